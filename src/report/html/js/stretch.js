// A stretch of the run's time. The address has it, so it lasts from view to view. Functions,
// callers and the flame graph are then those of the samples that began in it.

// The stretch of the view that is shown; null: the whole run.
let stretch = null;
// The views that can show a stretch alone.
const viewsOfStretch = new Set(['functions', 'flame', 'callers', 'timeline']);

function secondsText(seconds) { return String(Number(seconds.toFixed(6))); }

function hasSamples() {
    return hasPart('timeline') && part('timeline').samples.start_us.length > 0;
}

// Null if the words of an address name no stretch of a microsecond or more, or if the page has no
// samples.
function stretchIn(words) {
    if (!words.has('from') || !words.has('to') || !hasSamples()) return null;
    const [from, to] = ['from', 'to'].map((word) => Number(secondsText(Number(words.get(word)))));
    return isFinite(from) && isFinite(to) && from < to ? {from, to} : null;
}

// The same address within the stretch, by the unit that was chosen.
function withChoices(hash) {
    const words = new URLSearchParams(hash.replace(/^#/, ''));
    for (const word of ['from', 'to'])
        stretch ? words.set(word, secondsText(stretch[word])) : words.delete(word);
    profile.unit === profile.units[0] ? words.delete('by') : words.set('by', profile.unit);
    return `#${words}`;
}

// The samples that began in a stretch, and the functions and call stacks that they executed.
class StretchOfRun {
    constructor({from, to}) {
        const {samples, stacks, nodes} = part('timeline');
        this.nodes = nodes;
        this.samples = this.total = this.listed = 0;
        this.self = new Float64Array(nodes.parent.length + 1);  // by node
        for (let i = 0, first = 0; i < samples.start_us.length; first += samples.stacks[i], ++i) {
            const start = samples.start_us[i] / 1e6;
            if (start < from || start >= to) continue;
            const size = profile.unit === 'time' ? samples.time_ns[i] : samples.counted[i];
            ++this.samples;
            this.total += size;
            for (let row = first; row < first + samples.stacks[i]; ++row) {
                const amount = size * ratio(stacks.instructions[row], samples.instructions[i]);
                this.self[stacks.node[row]] += amount;
                this.listed += amount;
            }
        }
    }
    // Functions with their amounts in the stretch. A function counts once even if it is in a stack
    // several times.
    functions() {
        const self = new Map(), total = new Map();
        const {parent, function: functions} = this.nodes;
        for (let node = 1; node < this.self.length; ++node) {
            const amount = this.self[node];
            if (amount === 0) continue;
            const inner = functions[node - 1];
            self.set(inner, (self.get(inner) || 0) + amount);
            const seen = new Set();
            for (let at = node; at !== 0; at = parent[at - 1]) seen.add(functions[at - 1]);
            for (const each of seen) total.set(each, (total.get(each) || 0) + amount);
        }
        return [...total].map(([index, amount]) => ({
                                  ...profile.functions[index],
                                  self: self.get(index) || 0,
                                  share: ratio(self.get(index) || 0, this.total),
                                  error: undefined,
                                  total: amount,
                                  entries: 0,
                                  back_edges: 0
                              }));
    }
    // The call stacks of the stretch, in the form of the part 'flame'.
    flame() {
        this.flameData = this.flameData || this.makeFlame();
        return this.flameData;
    }
    makeFlame() {
        const {flame, frames} = part('timeline');
        const count = flame.parent.length + 1;
        const self = new Float64Array(count), total = new Float64Array(count);
        const children = Array.from({length: count}, () => []);
        for (let node = 1; node < this.self.length; ++node)
            self[this.nodes.flame[node]] += this.self[node];
        for (let node = count - 1; node > 0; --node) {
            total[node] += self[node];
            if (total[node] === 0) continue;
            total[flame.parent[node - 1]] += total[node];
            children[flame.parent[node - 1]].push(node);
        }
        const rows = [];
        const waiting = [[0, 0]];
        while (waiting.length) {
            const [node, depth] = waiting.pop();
            if (depth > 0) rows.push([flame.frame[node - 1], depth, self[node], total[node]]);
            children[node].sort((a, b) => total[a] - total[b]);
            for (const child of children[node]) waiting.push([child, depth + 1]);
        }
        return {total: this.total, nodes: rows.length, cut: 0, tree: {rows}, frames};
    }
}

let computed = null;
function stretchOfRun() {
    const {unit} = profile;
    if (!computed || computed.from !== stretch.from || computed.to !== stretch.to ||
        computed.unit !== unit)
        computed = {...stretch, unit, of: new StretchOfRun(stretch)};
    return computed.of;
}

// The views show the functions and the call stacks of the chosen stretch, or of the whole run.
function shownFunctions() { return stretch ? stretchOfRun().functions() : profile.functions; }
function shownTotal() {
    return stretch ? stretchOfRun().total :
                     profile.functions.reduce((sum, each) => sum + each.self, 0);
}
function shownFlame() { return stretch ? stretchOfRun().flame() : profile.flame(); }

// Says above a view which stretch is chosen.
function drawStretchBar(view) {
    const bar = byId('stretch');
    bar.hidden = stretch === null;
    if (!stretch) return bar.replaceChildren();
    const {samples, total, listed} = stretchOfRun();
    const text = [
        node('b', {}, `${secondsText(stretch.from)} s to ${secondsText(stretch.to)} s`),
        ` of the run, ${counted(samples, 'sample')}. `
    ];
    if (!viewsOfStretch.has(view.key))
        text.push(node('span', {class: 'warning'}, 'This view is of the whole run. '));
    else if (view.key !== 'timeline' && total > listed * 1.001)
        text.push(`${percent(1 - ratio(listed, total))} are in stacks too small to be kept. `);
    bar.replaceChildren(...add(node('span'), text).childNodes);
    if (view.key !== 'timeline')
        bar.append(node('a', {href: withChoices('#view=timeline')}, 'Timeline'));
    bar.append(node('button', {type: 'button', onclick: leaveStretch}, 'Whole run'));
}

function leaveStretch() {
    stretch = null;
    location.hash = withChoices(location.hash);
}

// Links lead to views of the same stretch, by the same unit.
function keepChoicesInLinks() {
    document.addEventListener('click', (event) => {
        const link = event.target.closest('a[href^="#"]');
        const isPlain = !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0;
        const hasChoices = stretch || profile.unit !== profile.units[0];
        if (!hasChoices || !link || !isPlain) return;
        event.preventDefault();
        location.hash = withChoices(link.getAttribute('href'));
    });
}
