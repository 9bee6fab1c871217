//! The simplest crate and script, for tests of the command.

use crate::scratch::Scratch;

/// A script that passes, formatted.
pub const FINE: &str = "\
#ticktime 20
#cut c Counter

#conditions
    C1 it's counted
#end

#top
    use CRATE::Counter;
#end

#begin counts
    #test C1
    #tick
        #thread <one>
            #valueCheck c.add(1) # 1 #end
        #end
    #end
#end
";

/// The same with a wrong expectation.
pub fn failing() -> String {
    FINE.replace("# 1 #end", "# 2 #end")
}

/// A scratch crate with these scripts, none of them included anywhere.
pub fn crate_with_scripts(name: &str, scripts: &[(&str, &str)]) -> Scratch {
    let scratch = Scratch::new(name);
    for (path, text) in scripts {
        scratch.write(path, text);
    }
    scratch
}
