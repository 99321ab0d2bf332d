// One function between its callers and its callees: two trees of calls, which open row by row.

const max_function_choices = 200;
// Rows open by themselves as long as one call has at least this share of them, to this depth.
const opening_share = 0.5, opening_depth = 8;
// A smaller rest of a sum is the error of its rounding.
const least_rest = 1e-9;

function callersHash(name) {
    const known = profile.byFullName.get(name);
    const words = new URLSearchParams({view: 'callers', function: known ? known.id : name});
    return withChoices(`#${words}`);
}

function callersLink(name, text, properties = {}) {
    return node(
        'a', {href: callersHash(name), title: 'its callers and callees', ...properties}, text);
}

// A row of a tree of calls: {name, size, grow() -> rows}. Rows without a name of a function have a
// `note`.

// The most first; the notes last.
function bySize(rows) {
    return rows.filter((row) => row.size > 0)
        .sort((a, b) => Boolean(a.note) - Boolean(b.note) || b.size - a.size);
}

// Sums up nodes of the same name: name -> {size, nodes}.
function groupedByName(tree, nodes, of) {
    const groups = new Map();
    for (const each of nodes) {
        const {index, size} = of(each);
        const name = tree.name(index);
        if (!groups.has(name)) groups.set(name, {size: 0, nodes: []});
        const group = groups.get(name);
        group.size += size;
        group.nodes.push({index, size});
    }
    return groups;
}

// Who made the calls `nodes`: {index, size}, with the part of their weight that is asked about.
function callerRows(tree, nodes) {
    const made = nodes.filter(({index}) => tree.parent[index] > 0);
    const groups =
        groupedByName(tree, made, ({index, size}) => ({index: tree.parent[index], size}));
    const rows = [...groups].map(
        ([name, group]) => ({name, size: group.size, grow: () => callerRows(tree, group.nodes)}));
    const first = nodes.filter(({index}) => tree.parent[index] === 0);
    return bySize([
        ...rows, {note: 'no caller is known', size: first.reduce((sum, each) => sum + each.size, 0)}
    ]);
}

// The callees of the calls `nodes`.
function calleeRows(tree, nodes) {
    const below = nodes.flatMap(({index}) => tree.callees()[index]);
    const groups = groupedByName(tree, below, (index) => ({index, size: tree.size[index]}));
    const rows = [...groups].map(
        ([name, group]) => ({name, size: group.size, grow: () => calleeRows(tree, group.nodes)}));
    const sum = (of) => nodes.reduce((all, {index}) => all + of(index), 0);
    const own = sum((index) => tree.self[index]), whole = sum((index) => tree.size[index]);
    const rest = whole - rows.reduce((all, row) => all + row.size, own);
    return bySize([
        ...rows, {note: 'its own', size: own},
        {note: 'calls too small to be in this page', size: rest < least_rest * whole ? 0 : rest}
    ]);
}

class CallRows {
    constructor(title, name, rows, total) {
        const unit = `${profile.unit[0].toUpperCase()}${profile.unit.slice(1)}`;
        this.name = name;
        this.total = total;
        this.body = node('tbody');
        this.root = node(
            'section', {class: 'call-rows'}, node('h3', {}, title),
            node(
                'div', {class: 'scroll'},
                node(
                    'table', {class: 'list', role: 'treegrid', 'aria-label': title},
                    node(
                        'thead', {},
                        node(
                            'tr', {}, node('th', {scope: 'col', class: 'share'}, 'Share'),
                            node('th', {scope: 'col', class: 'number'}, unit),
                            node('th', {scope: 'col'}, 'Function'))),
                    this.body)));
        this.append(null, rows, 1);
        this.openHottest(this.body.firstElementChild, rows[0], total, 1);
    }
    append(after, rows, depth) {
        const made = rows.map((row) => this.row(row, depth));
        const fragment = add(document.createDocumentFragment(), made);
        if (after)
            after.after(fragment);
        else
            this.body.append(fragment);
        return made;
    }
    openHottest(made, row, size, depth) {
        if (!row || !row.grow || depth >= opening_depth || row.size < opening_share * size) return;
        this.open(made);
        const [next] = row.grown;
        this.openHottest(made.nextElementSibling, next, row.size, depth + 1);
    }
    row(row, depth) {
        const made = node(
            'tr', {
                'data-row': true,
                'data-name': row.name,
                tabindex: -1,
                'aria-level': depth,
                'aria-expanded': row.grow ? 'false' : null,
                ...activated(() => this.toggle(made))
            },
            node(
                'td', {class: 'share'}, bar(ratio(row.size, this.total)),
                node('span', {class: 'percent'}, percent(ratio(row.size, this.total)))),
            node('td', {class: 'number', title: exactCount(row.size)}, this.amount(row.size)),
            this.cell(row, depth));
        made.data = row;
        return made;
    }
    amount(size) { return profile.unit === 'time' ? profile.amount(size) : shortCount(size); }
    cell(row, depth) {
        const indent = {style: {paddingLeft: `${8 + 14 * Math.min(depth - 1, 40)}px`}};
        if (row.note) return node('td', {class: 'place faint', ...indent}, `\u00b7 ${row.note}`);
        const again = row.name === this.name, isShort = abbreviated(row.name) === row.name;
        return node(
            'td', {class: 'place', ...indent},
            node('span', {class: 'twist', 'aria-hidden': 'true'}),
            callersLink(
                row.name, abbreviated(row.name),
                {class: 'name', title: row.name, 'data-full': isShort ? null : row.name}),
            again ? node('span', {class: 'faint'}, ' again') : '');
    }
    toggle(made) {
        if (made.getAttribute('aria-expanded') === 'true')
            this.close(made);
        else
            this.open(made);
    }
    open(made) {
        if (made.getAttribute('aria-expanded') !== 'false') return;
        made.data.grown = made.data.grow();
        made.setAttribute('aria-expanded', 'true');
        const depth = Number(made.getAttribute('aria-level')) + 1;
        return this.append(made, made.data.grown, depth);
    }
    close(made) {
        if (made.getAttribute('aria-expanded') !== 'true') return;
        const depth = Number(made.getAttribute('aria-level'));
        for (let next = made.nextElementSibling;
             next && Number(next.getAttribute('aria-level')) > depth;
             next = made.nextElementSibling)
            next.remove();
        made.setAttribute('aria-expanded', 'false');
    }
}

class CallersView {
    constructor(container, name) {
        const tree = shownCallTree();
        const nodes = tree.outermost(name).map((index) => ({index, size: tree.size[index]}));
        this.name = name;
        this.known = profile.byFullName.get(name);
        this.total = nodes.reduce((sum, each) => sum + each.size, 0);
        this.callers = new CallRows('Callers, upwards', name, callerRows(tree, nodes), this.total);
        this.callees =
            new CallRows('Callees, downwards', name, calleeRows(tree, nodes), this.total);
        this.root = node('section', {}, this.head(tree), this.callers.root, this.callees.root);
        this.root.addEventListener('view-key', (event) => this.key(event));
        container.append(this.root);
        const first = this.root.querySelector('[data-row]');
        if (first) first.tabIndex = 0;
    }
    head(tree) {
        const choices = tree.byWeight().slice(0, max_function_choices);
        if (!choices.some(([name]) => name === this.name)) choices.push([this.name, this.total]);
        const pick = node(
            'select', {
                'aria-label': 'Function',
                onchange: (event) => {
                    location.hash = callersHash(choices[event.target.selectedIndex][0]);
                }
            },
            choices.map(
                ([name, size]) => node(
                    'option', {selected: name === this.name, title: name},
                    `${percent(ratio(size, tree.total)).padStart(6)} ${briefName(name)}`)));
        const warning = tree.deepest > 1 ? '' : node('p', {class: 'warning'}, noStacksText());
        return [
            node('h2', {class: 'name'}, openedName(this.name)), warning,
            node(
                'p', {class: 'faint'},
                `${percent(ratio(this.total, tree.total))} of ${profile.unit} with callees, ${
                    profile.amount(this.total)}`),
            node(
                'div', {class: 'tools'}, pick,
                this.known && this.known.code ?
                    node(
                        'a', {href: functionHash(this.known)}, 'its code',
                        node('kbd', {'aria-hidden': 'true'}, 'o')) :
                    '')
        ];
    }
    // The row under the keyboard's focus, and the tree that it is in.
    focused() {
        const row = document.activeElement.closest('[data-row]');
        const rows = [this.callers, this.callees].find((each) => each.body.contains(row));
        return {row, rows};
    }
    key(event) {
        const {row, rows} = this.focused();
        const name = row && row.dataset.name;
        const known = name ? profile.byFullName.get(name) : this.known;
        const actions = {
            ArrowRight: () => rows && rows.open(row),
            ArrowLeft: () => rows && rows.close(row),
            w: () => {
                if (name) location.hash = callersHash(name);
            },
            o: () => {
                if (known && known.code) location.hash = functionHash(known);
            },
        };
        if (!actions[event.detail]) return;
        event.preventDefault();
        actions[event.detail]();
    }
}

// Whether a shown call stack has the function of this full name.
function inStacks(name) { return hasPart('flame') && shownCallTree().names.has(name); }

// The full name of the function with an identity or a name; undefined if no stack has it.
function stackFunction(id) {
    const known = profile.byId.get(id) ||
        profile.functions.find((each) => each.name === id || each.full === id);
    const name = known ? known.full : id;
    return inStacks(name) ? name : undefined;
}

// Needs a call stack.
function hottestInStacks() {
    const hot = shownFunctions().reduce(
        (best, each) => each.self > (best ? best.self : 0) && inStacks(each.full) ? each : best,
        null);
    return hot ? hot.full : shownCallTree().name(1);
}

function noStacksText() {
    return stretch ? 'There are no call stacks in this stretch.' :
                     'The profile has no call stacks (--profiles=stack).';
}

function showNoCallers(container, text) {
    container.append(node('h2', {}, 'Callers and callees'), node('p', {class: 'warning'}, text));
}

function showCallers(container, words) {
    if (shownCallTree().count === 1) return showNoCallers(container, noStacksText());
    const id = words.get('function');
    const name = id === null ? hottestInStacks() : stackFunction(id);
    if (name !== undefined) {
        new CallersView(container, name);
        return;
    }
    const place = stretch ? 'stretch' : 'page';
    showNoCallers(container, `No call stack in this ${place} has a function ${id}.`);
}
