//! A schedule as an ordinary script: the threads of each tick in the order in
//! which the schedule lets them go first.

use std::collections::BTreeMap;

use conan_lang::Parsed;
use conan_lang::tree::{ThreadBlock, TickItem};

/// The threads of each tick, in the order in which they went first.
pub(super) type Order = BTreeMap<u64, Vec<String>>;

/// A script with the one sequence, its threads in this order as far as blocks
/// can be moved: the replicas of a thread are one. Nothing if none moves.
pub(super) fn rewritten(parsed: &Parsed, sequence: usize, order: &Order) -> Option<String> {
    let tree = &parsed.script.sequences[sequence];
    let first = parsed.script.sequences.first()?;
    let mut text = parsed.source.text()[..first.span.range().start].to_owned();
    let mut at = tree.span.range().start;
    let mut has_moved = false;
    let mut names = Names::default();
    for (tick, time) in tree.ticks.iter().zip(1..) {
        let blocks = tick.items.iter().filter_map(|item| match item {
            TickItem::Thread(block) => Some(block),
            _ => None,
        });
        let blocks: Vec<(String, &ThreadBlock)> =
            blocks.map(|block| (names.of(block), block)).collect();
        let wanted = order.get(&time).map_or(&[][..], Vec::as_slice);
        let place = |name: &String| wanted.iter().position(|other| other == name);
        // Those that had nothing to do stay behind the others.
        let mut sorted: Vec<&(String, &ThreadBlock)> = blocks.iter().collect();
        sorted.sort_by_key(|(name, _)| place(name).unwrap_or(wanted.len()));
        for ((own, block), (name, moved)) in blocks.iter().zip(sorted) {
            text.push_str(&parsed.source.text()[at..block.span.range().start]);
            text.push_str(parsed.source.slice(moved.span));
            at = block.span.range().end;
            has_moved |= own != name;
        }
    }
    text.push_str(&parsed.source.text()[at..tree.span.range().end]);
    text.push('\n');
    has_moved.then_some(text)
}

/// The threads' names, as a driver has them.
#[derive(Default)]
struct Names {
    unnamed: usize,
}

impl Names {
    fn of(&mut self, block: &ThreadBlock) -> String {
        match &block.id {
            Some(id) => id.value.clone(),
            None => {
                self.unnamed += 1;
                format!("#{}", self.unnamed)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: &str = "#cut r R::new()\n#begin s\n#tick\n#thread <a> r.set(1); #end\n\
        #thread <b> r.set(2); #end\n#end\n#end\n";

    fn order(names: &[&str]) -> Order {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Order::from([(1, names)])
    }

    #[test]
    fn blocks_change_places() {
        let parsed = conan_lang::parse("s.conan", SCRIPT.to_owned());
        let text = rewritten(&parsed, 0, &order(&["b", "a"])).expect("they can");
        let (a, b) = (text.find("<a>"), text.find("<b>"));
        assert!(b < a, "{text}");
        assert_eq!(text.len(), SCRIPT.len());
    }

    #[test]
    fn nothing_moves_where_nothing_can() {
        let parsed = conan_lang::parse("s.conan", SCRIPT.to_owned());
        assert_eq!(rewritten(&parsed, 0, &order(&["a", "b"])), None);
        assert_eq!(rewritten(&parsed, 0, &order(&["b.1", "a"])), None);
    }
}
