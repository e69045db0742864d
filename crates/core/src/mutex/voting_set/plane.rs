//! Finite projective planes, as Singer's perfect difference sets.
//!
//! The points of the plane of order q are the elements of GF(q³) other than 0, where multiples by an element of GF(q)
//! count as one: q² + q + 1 points. Write GF(q³) as polynomials of degree below 3 over GF(q) modulo a cubic, and let
//! the cubic be such that the powers 1, x, x², … run through all points before they come back to GF(q). A line is what
//! two points span; take the one through 1 and x. Its points, as exponents of x, are the difference set: the
//! polynomials without x². Multiplication by x moves lines to lines, so the other lines are this one shifted; and two
//! lines meet in exactly one point.
//!
//! (No such cubic is reducible: multiplication by x would leave the multiples of a factor among themselves, and the
//! powers of x would not get everywhere.)

use alloc::vec;
use alloc::vec::Vec;

/// The order of the plane with `n` points, if there is one: a prime power, or 0 or 1, where the plane is a point or a
/// triangle.
pub(super) fn order(n: u32) -> Option<u32> {
    let order = (n - 1).isqrt();
    let exists = order * order + order + 1 == n && (order < 2 || prime_power(order).is_some());
    exists.then_some(order)
}

/// The difference set of the plane of this order, ascending from 0.
pub(super) fn differences(order: u32) -> Vec<u32> {
    if order < 2 {
        return (0..=order).collect();
    }
    let (prime, degree) = prime_power(order).expect("planes are made only of orders that exist");
    let field = Field::prime(prime as usize).extension(degree);
    let points = order * order + order + 1;
    (1..field.order.pow(3))
        .find_map(|cubic| field.line(points, &field.digits(cubic, 3)))
        .expect("a generator of GF(q³) satisfies such a cubic")
}

/// The prime and the exponent of which this number, 2 or more, is the power.
fn prime_power(number: u32) -> Option<(u32, u32)> {
    let prime = (2..=number).find(|divisor| number.is_multiple_of(*divisor))?;
    let exponent = number.ilog(prime);
    (prime.pow(exponent) == number).then_some((prime, exponent))
}

/// A finite field, as tables. Its elements are 0, 1, … order − 1; 0 and 1 are what they are called.
///
/// An element of an extension stands for a polynomial in x over the base field: its digits to the base `base.order`,
/// lowest first, are the coefficients.
struct Field {
    order: usize,
    sums: Vec<u8>,
    products: Vec<u8>,
}

impl Field {
    /// GF(p): arithmetic modulo a prime.
    fn prime(prime: usize) -> Field {
        Field::tabulate(prime, |a, b| (a + b) % prime, |a, b| a * b % prime)
    }

    /// The field of polynomials of degree below `degree` over this one, modulo a polynomial such that the powers of x
    /// are all elements but 0. Products are sums of exponents.
    fn extension(&self, degree: u32) -> Field {
        let order = self.order.pow(degree);
        let powers = (1..order)
            .find_map(|tail| self.all_powers(order, &self.digits(tail, degree)))
            .expect("every finite field has a generator");
        let mut exponents = vec![0; order];
        for (exponent, &power) in powers.iter().enumerate() {
            exponents[power] = exponent;
        }
        let sum = |a, b| {
            let (a, b) = (self.digits(a, degree), self.digits(b, degree));
            self.number(&a.iter().zip(&b).map(|(&a, &b)| self.sum(a, b)).collect::<Vec<u8>>())
        };
        let product = |a: usize, b: usize| {
            if a == 0 || b == 0 { 0 } else { powers[(exponents[a] + exponents[b]) % (order - 1)] }
        };
        Field::tabulate(order, sum, product)
    }

    fn tabulate(order: usize, sum: impl Fn(usize, usize) -> usize, product: impl Fn(usize, usize) -> usize) -> Field {
        assert!(order <= 256, "an element is a byte");
        let pairs = || (0..order).flat_map(|a| (0..order).map(move |b| (a, b)));
        Field {
            order,
            sums: pairs().map(|(a, b)| sum(a, b) as u8).collect(),
            products: pairs().map(|(a, b)| product(a, b) as u8).collect(),
        }
    }

    fn sum(&self, a: u8, b: u8) -> u8 {
        self.sums[usize::from(a) * self.order + usize::from(b)]
    }

    fn product(&self, a: u8, b: u8) -> u8 {
        self.products[usize::from(a) * self.order + usize::from(b)]
    }

    /// The coefficients of the polynomial that a number stands for.
    fn digits(&self, number: usize, count: u32) -> Vec<u8> {
        (0..count).map(|place| (number / self.order.pow(place) % self.order) as u8).collect()
    }

    /// The number that stands for a polynomial.
    fn number(&self, digits: &[u8]) -> usize {
        digits.iter().rev().fold(0, |number, &digit| number * self.order + usize::from(digit))
    }

    /// Multiplies a polynomial by x, where the power of x that is out of reach equals `tail`.
    fn times_x(&self, polynomial: &mut [u8], tail: &[u8]) {
        polynomial.rotate_right(1);
        let carry = core::mem::take(&mut polynomial[0]);
        for (coefficient, &factor) in polynomial.iter_mut().zip(tail) {
            *coefficient = self.sum(*coefficient, self.product(carry, factor));
        }
    }

    /// The powers of x modulo this tail, as numbers, if they are all of the `order` − 1 elements but 0.
    fn all_powers(&self, order: usize, tail: &[u8]) -> Option<Vec<usize>> {
        let mut power = self.digits(1, tail.len() as u32);
        let mut powers = vec![1];
        loop {
            self.times_x(&mut power, tail);
            match self.number(&power) {
                1 => return (powers.len() == order - 1).then_some(powers),
                _ if powers.len() == order - 1 => return None,
                number => powers.push(number),
            }
        }
    }

    /// The exponents of the powers of x without x², if the powers of x modulo this cubic run through all points before
    /// one is a constant again.
    fn line(&self, points: u32, tail: &[u8]) -> Option<Vec<u32>> {
        let mut power = [1, 0, 0];
        let mut line = vec![0];
        for exponent in 1..=points {
            self.times_x(&mut power, tail);
            match power {
                [_, 0, 0] => return (exponent == points).then_some(line),
                [_, _, 0] => line.push(exponent),
                [_, _, _] => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Field, differences, order};

    #[test]
    fn planes_exist_for_prime_powers() {
        let n: alloc::vec::Vec<u32> = (1..=307).filter(|&n| order(n).is_some()).collect();
        assert_eq!(n, [1, 3, 7, 13, 21, 31, 57, 73, 91, 133, 183, 273, 307]);
    }

    #[test]
    fn small_difference_sets_are_the_well_known_ones() {
        assert_eq!(differences(0), [0]);
        assert_eq!(differences(1), [0, 1]);
        assert_eq!(differences(2), [0, 1, 3]);
        assert_eq!(differences(3), [0, 1, 3, 9]);
    }

    #[test]
    fn extensions_are_fields() {
        for (prime, degree) in [(2, 2), (2, 3), (3, 2), (2, 4), (5, 2), (3, 3), (2, 5)] {
            let field = Field::prime(prime).extension(degree);
            let elements = || 0..field.order as u8;
            for a in elements() {
                assert_eq!((field.sum(a, 0), field.product(a, 1), field.product(a, 0)), (a, a, 0));
                assert!(elements().any(|b| field.sum(a, b) == 0));
                assert!(a == 0 || elements().any(|b| field.product(a, b) == 1));
                for (b, c) in elements().flat_map(|b| elements().map(move |c| (b, c))) {
                    let product_of_sum = field.product(a, field.sum(b, c));
                    assert_eq!(product_of_sum, field.sum(field.product(a, b), field.product(a, c)));
                }
            }
        }
    }
}
