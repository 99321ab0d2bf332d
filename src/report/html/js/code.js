// A function's instructions with all that is known of them, by address or by source line.

const min_fold = 4;
const branchText = /^(?:j\w+|call|loop\w*)\b/;
// An operand's address, and what lies there.
const namedAddress = /^(.*0x[0-9a-f]+) <(.+)>$/i;

// Where a direct branch leads, as a match of its text; null for other instructions.
function directTarget(text) { return branchText.test(text) ? /0x[0-9a-f]+$/i.exec(text) : null; }

// Mnemonic and operands. The target of a direct branch becomes a link.
function instructionText(text, link) {
    const [, plain, name] = namedAddress.exec(text) || [null, text, ''];
    const cut = plain.indexOf(' ') < 0 ? plain.length : plain.indexOf(' ');
    const target = link ? directTarget(plain) : null;
    const operands = target ? [plain.slice(cut, target.index), link(target[0].toLowerCase())] :
                              plain.slice(cut);
    return node(
        'code', {class: 'instruction'}, node('span', {class: 'mnemonic'}, plain.slice(0, cut)),
        operands, name ? [' <', shortName(name), '>'] : '');
}

class CodeView {
    constructor(container, around, words) {
        this.around = around;
        this.code = codeOf(around);
        this.bySource = words.get('by') === 'source' && this.code.source.size > 0;
        this.showCold = false;
        this.opened = new Set();
        this.root = node('section', {class: 'code-view'});
        this.root.addEventListener('view-key', (event) => this.key(event));
        this.head();
        this.place = node('div', {class: 'scroll code-scroll'});
        this.root.append(this.place);
        container.append(this.root);
        this.draw();
        if (words.get('at')) this.goTo(words.get('at'));
    }
    head() {
        const {around} = this;
        const numbers = [
            around.share > 0 ?
                `${percent(around.share)} ${margin(around.error)} of ${profile.unit}` :
                '',
            around.self > 0 ? `${shortCount(around.self)} its own` : '',
            around.total > around.self ? `${shortCount(around.total)} with callees` : '',
            around.entries > 0 ? counted(around.entries, 'call') : '',
            around.back_edges > 0 ? `${shortCount(around.back_edges)} loops` : '',
        ].filter(Boolean).join(' \u00b7 ');
        const others = profile.functions.filter((each) => each.code);
        const pick = node(
            'select', {
                'aria-label': 'Function',
                onchange: (event) => {
                    location.hash = functionHash(others[event.target.selectedIndex]);
                }
            },
            others.map(
                (each) => node(
                    'option', {selected: each === around, title: each.full},
                    `${percent(each.share).padStart(6)} ${briefName(each.full)}`)));
        const toggles = [
            this.toggle(
                'By source', 's', () => this.bySource,
                () => {
                    this.bySource = !this.bySource;
                }),
            this.toggle(
                'Never executed', 'x', () => this.showCold,
                () => {
                    this.showCold = !this.showCold;
                })
        ];
        if (this.code.source.size === 0) toggles.shift();
        this.root.append(
            node('h2', {class: 'name'}, openedName(around.full)),
            node(
                'p', {class: 'faint'}, numbers, ' \u00b7 ', profile.moduleName(around),
                around.file ? node(
                                  'span', {title: around.file},
                                  ` \u00b7 ${baseName(around.file)}:${around.line}`) :
                              ''),
            this.code.incomplete ?
                node(
                    'p', {class: 'warning'},
                    'Only instructions that the profile names: ', this.code.incomplete) :
                '',
            node(
                'div', {class: 'tools'}, pick, toggles,
                inStacks(around.full) ?
                    callersLink(
                        around.full, ['its callers', node('kbd', {'aria-hidden': 'true'}, 'w')]) :
                    ''));
    }
    toggle(title, key, state, change) {
        const button = node(
            'button', {
                type: 'button',
                class: 'toggle',
                'aria-pressed': String(state()),
                onclick: () => {
                    change();
                    button.setAttribute('aria-pressed', String(state()));
                    this.draw();
                }
            },
            title, node('kbd', {'aria-hidden': 'true'}, key));
        button.dataset.key = key;
        return button;
    }
    key(event) {
        const button =
            this.root.querySelector(`button.toggle[data-key="${CSS.escape(event.detail)}"]`);
        if (button)
            button.click();
        else if (event.detail === 'n')
            this.nextHot(1);
        else if (event.detail === 'p')
            this.nextHot(-1);
        else if (event.detail === 'w' && inStacks(this.around.full))
            location.hash = callersHash(this.around.full);
        else
            return;
        event.preventDefault();
    }
    draw() {
        const columns = this.bySource ?
            [['Instructions', 'number'], ['', 'share'], ['Line', 'number'], ['Source', '']] :
            [
                ['Executions', 'number'], ['', 'share'], ['Address', 'number'],
                ['Instruction', 'asm'], ['Known of it', 'facts']
            ];
        this.body = node('tbody');
        this.place.replaceChildren(node(
            'table', {class: 'code', 'aria-label': `Code of ${this.around.name}`},
            node(
                'thead', {},
                node('tr', {}, columns.map(([
                                               title, kind
                                           ]) => node('th', {scope: 'col', class: kind}, title)))),
            this.body));
        this.drawnRows = new Map();
        this.items = this.bySource ? this.lineItems() : this.addressItems();
        this.first = true;
        this.lazy = new LazyRows(this.body, this.items, (item) => this[item.kind](item), 300);
    }

    // Rows by address.
    addressItems() {
        const items = [], {rows, known} = this.code;
        let file = null, line = 0;
        for (let i = 0; i < rows.length;) {
            const row = rows[i];
            let end = i;
            while (end < rows.length && known && rows[end].cold && (end === i || !rows[end].gap))
                ++end;
            if (row.gap && i > 0) items.push({kind: 'gapRow'});
            if (row.folded ||
                (end - i >= min_fold && !this.showCold && !this.opened.has(row.address))) {
                items.push({kind: 'coldRow', rows: row.folded ? [row] : rows.slice(i, end)});
                i = row.folded ? i + 1 : end;
                line = 0;
                continue;
            }
            if (row.line && (row.file !== file || row.line !== line)) {
                const text = this.code.sourceLine(row.file, row.line);
                // For a file whose text is not in the page, only its name.
                if (text !== undefined || row.file !== file)
                    items.push({
                        kind: 'sourceRow',
                        file: row.file,
                        line: row.line,
                        text,
                        newFile: row.file !== file
                    });
            }
            if (row.line) [file, line] = [row.file, row.line];
            items.push({kind: 'codeRow', row});
            ++i;
        }
        return items;
    }
    gapRow() { return node('tr', {class: 'gap'}, node('td', {colspan: 5})); }
    sourceRow({file, line, text, newFile}) {
        const name = profile.file(file);
        return node(
            'tr', {class: 'source-row'},
            node(
                'td', {colspan: 2, class: 'source', title: name},
                newFile || text === undefined ? baseName(name) : ''),
            node('td', {class: 'number'}, String(line)),
            node(
                'td', {colspan: 2, class: 'text'},
                node('code', {}, text === undefined ? '' : text)));
    }
    coldRow({rows}) {
        const count = rows[0].folded || rows.length;
        const text = `${countedExactly(count, 'instruction')} never executed, ${
            rows[0].address} to ${rows[0].last || rows[rows.length - 1].address}`;
        const open = () => {
            this.opened.add(rows[0].address);
            this.draw();
            this.goTo(rows[0].address);
        };
        return node(
            'tr', {
                class: 'cold',
                'data-row': true,
                tabindex: -1,
                ...(rows[0].folded ? {} : activated(open))
            },
            node('td', {colspan: 3}),
            node('td', {colspan: 2}, rows[0].folded ? text : ['\u25b8 ', text]));
    }
    codeRow({row}) {
        const {executions, cold, facts: known} = row;
        const share = ratio(executions, this.code.sum);
        const made = node(
            'tr', {
                class: `code-row ${cold ? 'never' : ''}`,
                'data-row': true,
                tabindex: this.first ? 0 : -1,
                'aria-expanded': Object.keys(known).length ? 'false' : null,
                onfocus: () => this.markTargets(row),
                ...activated(() => this.details(made, row))
            },
            node(
                'td', {
                    class: 'number',
                    title: executions === null ? 'not known' : exactCount(executions)
                },
                executions === null  ? '' :
                    executions === 0 ? '\u00b7' :
                                       shortCount(executions)),
            node(
                'td', {class: 'share'},
                executions ?
                    [
                        heatBar(ratio(executions, this.code.most)),
                        node('span', {class: 'percent'}, percent(share))
                    ] :
                    ''),
            node(
                'td', {
                    class: 'address',
                    title: row.line ? `${profile.file(row.file)}:${row.line}` : null
                },
                row.address.slice(2)),
            node(
                'td', {class: 'asm'},
                instructionText(
                    row.text || '(no instruction)', (target) => this.targetLink(target))),
            node('td', {class: 'facts'}, this.facts(row)));
        this.first = false;
        this.drawnRows.set(row.address, made);
        return made;
    }
    // A link to another instruction of this function, or to another function.
    targetLink(address, text = address) {
        if (!this.code.byAddress.has(address)) return text;
        return node(
            'a', {
                href: functionHash(this.around, address),
                onclick: (event) => {
                    if (event.ctrlKey || event.metaKey) return;
                    event.preventDefault();
                    history.replaceState(null, '', functionHash(this.around, address));
                    this.goTo(address);
                }
            },
            text);
    }
    placeTarget(index) {
        const place = profile.place(index);
        return place.function === this.around ? this.targetLink(place.address, placeName(place)) :
                                                placeLink(index);
    }
    facts({text, facts: known}) {
        const shown = [];
        if (known.time_ns)
            shown.push(node(
                'span', {class: 'fact', title: 'by looks at threads'},
                `${percent(ratio(known.time_ns, this.code.time))} of the time`));
        if (known.taken !== undefined) {
            const share = ratio(known.taken, known.left);
            shown.push(node(
                'span',
                {class: 'fact', title: `${exactCount(known.taken)} of ${exactCount(known.left)}`},
                bar(share, 'taken'), ` ${percent(share)} taken`));
        } else if (known.to && known.targets > 1) {
            const [place, , count] = known.to[0];
            shown.push(node(
                'span', {class: 'fact'},
                `${exactCount(known.targets)} targets, ${
                    wholePercent(ratio(count, known.left))} \u2192 `,
                this.placeTarget(place)));
        } else if (known.to && !/^jmp 0x/.test(text)) {
            shown.push(node('span', {class: 'fact'}, '\u2192 ', this.placeTarget(known.to[0][0])));
        }
        for (const value of (known.values || []).map(valueOf).filter(isTelling).slice(0, 2))
            shown.push(node(
                'span', {class: 'fact value'}, valueBar(value),
                node('code', {}, ` ${value.operand} = ${valueText(value)}`),
                ` ${wholePercent(value.invariance)}`));
        if (known.load)
            shown.push(node(
                'span', {class: 'fact'}, levelBar(known.load),
                ` ${mainLevel(known.load)}${
                    known.load.timed ? `, median ${Math.round(known.load.median_cycles)}` : ''}`));
        if (known.moves && movesCount(known.moves))
            shown.push(node('span', {class: 'fact'}, movesText(known.moves)));
        for (const hazard of (known.hazards || []).slice(0, 1))
            shown.push(node('span', {class: 'fact hazard'}, hazardText(hazard)));
        return shown;
    }
    details(made, {facts: known}) {
        const next = made.nextElementSibling;
        if (next && next.matches('.details')) {
            next.remove();
            made.setAttribute('aria-expanded', 'false');
            return;
        }
        if (Object.keys(known).length === 0) return;
        const hazards =
            (known.hazards || [])
                .map(
                    (hazard) => node(
                        'p', {}, hazardText(hazard), ' of executions',
                        hazard.first === undefined ?
                            '' :
                            [', behind the store at ', this.placeTarget(hazard.first)]));
        made.after(node(
            'tr', {class: 'details'},
            node(
                'td', {colspan: 5},
                node(
                    'div', {class: 'blocks'},
                    known.to ? targetDetails(known, (place) => this.placeTarget(place)) : '',
                    (known.values || []).map(valueOf).map(valueDetails),
                    known.load ? loadDetails(known.load) : '',
                    known.moves ? movesDetails(known.moves) : '',
                    hazards.length ?
                        node('div', {class: 'block'}, node('h4', {}, 'Hazards'), hazards) :
                        ''))));
        made.setAttribute('aria-expanded', 'true');
    }
    // Marks where the focused instruction leads within the function.
    markTargets({text, facts: known}) {
        for (const each of this.body.querySelectorAll('.target')) each.classList.remove('target');
        const [, plain] = namedAddress.exec(text || '') || [null, text || ''];
        const direct = directTarget(plain);
        const targets = (known.to || [])
                            .map(([place]) => profile.place(place))
                            .filter((place) => place.function === this.around)
                            .map((place) => place.address);
        for (const address of direct ? [...targets, direct[0].toLowerCase()] : targets)
            if (this.drawnRows.has(address)) this.drawnRows.get(address).classList.add('target');
    }
    goTo(address) {
        if (this.bySource) {
            this.bySource = false;
            this.root.querySelectorAll('button.toggle[data-key="s"]')
                .forEach((each) => each.setAttribute('aria-pressed', 'false'));
            this.draw();
        }
        const within = (item) => item.kind === 'codeRow' ?
            item.row.address === address :
            item.kind === 'coldRow' && item.rows.some((row) => row.address === address);
        let index = this.items.findIndex(within);
        if (index >= 0 && this.items[index].kind === 'coldRow' &&
            !this.items[index].rows[0].folded) {
            this.opened.add(this.items[index].rows[0].address);
            this.draw();
            index = this.items.findIndex(within);
        }
        if (index < 0) return;
        this.lazy.upTo(index + 30);
        const row = this.drawnRows.get(address);
        if (!row) return;
        focusRow(row);
        row.scrollIntoView({block: 'center'});
    }
    // Goes to the next of the hottest runs. A run ends where the number of executions changes.
    nextHot(step) {
        if (!this.hot) {
            const {rows} = this.code;
            this.hot = rows.filter(
                               (row, i) => row.executions > 0 &&
                                   (i === 0 || rows[i - 1].executions !== row.executions))
                           .sort((a, b) => b.executions - a.executions)
                           .slice(0, 50);
            this.hotAt = step > 0 ? -1 : 0;
        }
        if (this.hot.length === 0) return;
        this.hotAt = (this.hotAt + step + this.hot.length) % this.hot.length;
        this.goTo(this.hot[this.hotAt].address);
    }

    // Rows by source line.
    lineItems() {
        const sums = new Map();
        for (const row of this.code.rows) {
            if (!row.line) continue;
            const key = `${row.file}:${row.line}`;
            if (!sums.has(key)) sums.set(key, {sum: 0, rows: []});
            sums.get(key).sum += row.executions || 0;
            sums.get(key).rows.push(row);
        }
        const most = Math.max(1, largest([...sums.values()], (each) => each.sum));
        const own = this.code.rows.find((row) => row.line);
        const files =
            [...this.code.source.keys()].sort((a, b) => (b === own.file) - (a === own.file));
        const items = [];
        for (const file of files) {
            items.push({kind: 'fileRow', file});
            this.code.source.get(file).forEach(([first, lines], piece) => {
                if (piece > 0) items.push({kind: 'lineGap'});
                lines.forEach((text, i) => items.push({
                    kind: 'lineRow',
                    line: first + i,
                    text,
                    most,
                    ...(sums.get(`${file}:${first + i}`) || {sum: 0, rows: []})
                }));
            });
        }
        return items;
    }
    fileRow({file}) {
        return node('tr', {class: 'file-row'}, node('td', {colspan: 4}, profile.file(file)));
    }
    lineGap() { return node('tr', {class: 'gap'}, node('td', {colspan: 4})); }
    lineRow({line, text, sum, rows, most}) {
        const open = () => {
            const next = made.nextElementSibling;
            if (next && next.matches('.details')) {
                next.remove();
                made.setAttribute('aria-expanded', 'false');
            } else if (rows.length) {
                made.after(node(
                    'tr', {class: 'details'},
                    node(
                        'td', {colspan: 4},
                        node(
                            'table', {class: 'code'},
                            node(
                                'tbody', {},
                                rows.filter((row) => !row.folded)
                                    .map((row) => this.codeRow({row})))))));
                made.setAttribute('aria-expanded', 'true');
            }
        };
        const made = node(
            'tr', {
                class: `line-row ${rows.length ? '' : 'no-code'}`,
                'data-row': rows.length > 0,
                tabindex: rows.length ? -1 : null,
                'aria-expanded': rows.length ? 'false' : null,
                ...activated(open)
            },
            node(
                'td', {class: 'number', title: exactCount(sum)},
                sum             ? shortCount(sum) :
                    rows.length ? '\u00b7' :
                                  ''),
            node(
                'td', {class: 'share'},
                sum ?
                    [
                        heatBar(sum / most),
                        node('span', {class: 'percent'}, percent(ratio(sum, this.code.sum)))
                    ] :
                    ''),
            node('td', {class: 'number line-number'}, String(line)),
            node('td', {class: 'text'}, node('code', {class: 'source-text'}, text)));
        return made;
    }
}

function showCode(container, words) {
    const id = words.get('function');
    const around = id === null ? profile.functions.find((each) => each.code) :
                                 profile.byId.get(id) ||
            profile.functions.find((each) => each.name === id || each.full === id);
    if (!around || !around.code) {
        container.append(
            node('h2', {}, 'Code'),
            node(
                'p', {class: 'warning'},
                around ?
                    `The code of ${
                        around.full} is not in this page: it has that of the hottest functions.` :
                    `There is no function ${id} in this profile.`));
        return;
    }
    new CodeView(container, around, words);
}
