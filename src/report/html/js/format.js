// Formats numbers like the terminal's summary, without insignificant digits.

const units = [[1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k']];

function threeDigits(number) {
    if (number >= 99.95) return number.toFixed(0);
    return number.toFixed(number >= 9.995 ? 1 : 2);
}

function shortCount(count) {
    if (count < 10000) return String(Math.round(count));
    const [size, name] = units.find(([each]) => count >= each * 0.9995);
    return `${threeDigits(count / size)} ${name}`;
}

function exactCount(count) {
    return Math.round(count).toLocaleString('en').replaceAll(',', '\u2009');
}

function percent(share) {
    if (!(share > 0) || !isFinite(share)) return '0%';
    return share < 0.0005 ? '<0.1%' : `${(100 * share).toFixed(1)}%`;
}

function wholePercent(share) {
    if (!(share > 0) || !isFinite(share)) return '0%';
    return share < 0.005 ? '<1%' : `${Math.round(100 * share)}%`;
}

function ratio(part, whole) { return whole > 0 ? part / whole : 0; }

// The largest value(item); 0 if there is none above. Takes any number of items, unlike Math.max().
function largest(items, value) {
    return items.reduce((most, each) => Math.max(most, value(each)), 0);
}

// Half the width of a share's confidence interval, rounded upwards. null: unknown, which matters
// only in sampled profiles; undefined: there is none.
function margin(error) {
    if (error === undefined) return '';
    if (error === null) return profile.sampled ? '?' : '';
    return `\u00b1${(Math.ceil(1000 * error) / 10).toFixed(1)}`;
}

function duration(seconds) {
    if (!(seconds > 0)) return '0';
    if (seconds < 0.9995e-3) return `${Math.max(1, Math.round(seconds * 1e6))} \u00b5s`;
    if (seconds < 0.9995) return `${threeDigits(seconds * 1e3)} ms`;
    if (seconds < 600) return `${threeDigits(seconds)} s`;
    return seconds < 36000 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

function counted(count, singular) {
    return `${shortCount(count)} ${singular}${count === 1 ? '' : 's'}`;
}

function countedExactly(count, singular) {
    return `${exactCount(count)} ${singular}${count === 1 ? '' : 's'}`;
}

// A name whose outermost lists in <> and () are replaced by what shown() makes of them: it gets the
// list, the text before it, and the character behind it.
function withLists(name, shown) {
    let text = '', list = '';
    const closes = {'<': '>', '(': ')'};
    const open = [];
    for (let i = 0; i < name.length; ++i) {
        const each = name[i];
        const opens = closes[each] && !/operator<?$/.test(name.slice(Math.max(0, i - 9), i));
        if (opens && open.push(closes[each]) === 1) list = '';
        if (open.length === 0)
            text += each;
        else
            list += each;
        if (open.length && each === open[open.length - 1] && name[i - 1] !== '-' &&
            (open.pop(), open.length === 0))
            text += shown(list, text, name[i + 1]);
    }
    return open.length ? name : text;
}

// A C++ name whose long argument lists are replaced by "<\u2026>" and "(\u2026)". Go's receivers
// stay: "net/http.(*conn).serve".
function abbreviated(name) {
    if (name.length < 40) return name;
    return withLists(
        name,
        (list, before, next) =>
            list.length > 14 && next !== '.' ? `${list[0]}\u2026${list[list.length - 1]}` : list);
}

// A function's name alone, for narrow lists: without the arguments of templates, the parameters,
// and the type of a template's result. Go's receivers and Rust's types stay.
function briefName(name) {
    const stays = (list, before, next) =>
        list === '(anonymous namespace)' || before === '' || next === '.';
    const text = withLists(name, (...each) => stays(...each) ? each[0] : '')
                     .replace(/( const| volatile| noexcept| &&?)+(?= \[|$)/, '')
                     .trim();
    const hasResult = name.includes('>(') && !text.includes('operator ');
    const plain = hasResult ? text.replace(/^[^[]* (?!namespace\)|\[)/, '') : text;
    return plain || name;
}

// A module as reports name it. Just-in-time compilers make most code without a file.
function shownModule(path) { return path.replace(/^\[anon( \d+)?\]$/, '[jit$1]'); }
function baseName(path) { return path.slice(path.lastIndexOf('/') + 1); }
