-- One row for each thing that is protected by a lock, with the largest fence that it has seen.
CREATE TABLE counters (
    name   text   PRIMARY KEY,
    fence  bigint NOT NULL,
    number bigint NOT NULL
);
