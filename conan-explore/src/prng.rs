//! Pseudo-random numbers whose meaning does not change.

/// The generator of all searches that draw lots: `SplitMix64`, as published by
/// Steele, Lea and Flood in 2014. A seed means the same numbers for ever.
#[derive(Debug, Clone)]
pub struct Prng(u64);

impl Prng {
    /// The generator with this state.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The generator for one execution of a search with this seed: its state
    /// is the first number of the seed, xor the first number of the
    /// execution's own number, turned by 32 bits. So the thousandth execution
    /// can be had without the 999 before it.
    pub fn of_execution(seed: u64, execution: u64) -> Self {
        let (mut seed, mut execution) = (Self(seed), Self(execution));
        Self(seed.number() ^ execution.number().rotate_left(32))
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`: the upper half of the product of the next
    /// number and `limit`. 0 if `limit` is.
    pub fn below(&mut self, limit: usize) -> usize {
        let product = u128::from(self.number()) * limit as u128;
        (product >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::Prng;

    #[test]
    fn the_numbers_are_those_that_were_published() {
        let mut prng = Prng::new(1_234_567);
        let numbers = [(); 5].map(|()| prng.number());
        let published = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(numbers, published);
    }

    #[test]
    fn the_numbers_of_an_execution_stay_as_they_are() {
        let mut prng = Prng::of_execution(7, 1000);
        let numbers = [(); 8].map(|()| prng.below(6));
        assert_eq!(numbers, [1, 3, 5, 4, 0, 0, 4, 1]);
    }

    #[test]
    fn every_number_below_the_limit_comes() {
        let mut prng = Prng::new(1);
        let mut seen = [0; 7];
        for _ in 0..7000 {
            seen[prng.below(7)] += 1;
        }
        assert!(
            seen.iter().all(|&count| (850..1150).contains(&count)),
            "{seen:?}"
        );
        assert_eq!(prng.below(1), 0);
        assert_eq!(prng.below(0), 0);
    }
}
