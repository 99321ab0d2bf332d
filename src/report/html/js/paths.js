// Hot paths: a list, and beside it the code of one path in the order of execution.

class PathView {
    constructor(container, words) {
        const data = part('paths');
        this.paths = rowsOf(data.paths);
        this.blocks = rowsOf(data.blocks);
        this.code =
            node('section', {class: 'path-code', 'aria-label': 'Code of the path', tabindex: -1});
        this.items = [];
        const list = node('div', {class: 'path-list', role: 'listbox', 'aria-label': 'Paths'});
        new LazyRows(
            list, this.paths.map((path, index) => ({path, index})), (each) => this.item(each), 100);
        container.append(
            node('h2', {}, 'Paths'),
            node('div', {class: 'tools'}, shownText(data, 'paths', 'the instructions in paths')),
            node('div', {class: 'paths'}, list, this.code));
        this.show(Math.min(Number(words.get('path')) || 0, this.paths.length - 1));
    }
    functionsOf(path) {
        const names = [];
        for (const block of path.blocks) {
            const {function: around} = profile.place(this.blocks[block].at);
            if (names[names.length - 1] !== around.full) names.push(around.full);
        }
        return names;
    }
    item({path, index}) {
        const full = this.functionsOf(path), names = full.map(briefName);
        const item = node(
            'div', {
                class: 'path-item',
                role: 'option',
                'data-row': true,
                tabindex: index ? -1 : 0,
                'aria-selected': 'false',
                onfocus: () => this.show(index),
                ...activated(() => this.show(index))
            },
            node(
                'div', {class: 'share'}, bar(ratio(path.share, this.paths[0].share)),
                node('span', {class: 'percent'}, percent(path.share)),
                node('span', {class: 'margin'}, margin(path.error)),
                node(
                    'span', {class: 'faint'},
                    `${shortCount(path.count)} \u00d7 ${path.instructions} insns, ${
                        counted(path.length, 'block')}`)),
            node(
                'div', {class: 'chain', title: full.join(' \u2192 ')},
                names.length > 4 ? `${names.slice(0, 2).join(' \u2192 ')} \u2192 \u2026 \u2192 ${
                                       names[names.length - 1]}` :
                                   names.join(' \u2192 ')));
        this.items[index] = item;
        return item;
    }
    show(index) {
        if (index === this.shown) return;
        if (this.items[this.shown]) this.items[this.shown].setAttribute('aria-selected', 'false');
        if (this.items[index]) this.items[index].setAttribute('aria-selected', 'true');
        this.shown = index;
        const path = this.paths[index];
        this.code.replaceChildren(node(
            'p', {class: 'path-head'}, node('b', {}, percent(path.share)),
            ` ${margin(path.error)} of the instructions in paths: `,
            `executed ${countedExactly(path.count, 'time')}, `,
            `${countedExactly(path.instructions, 'instruction')} each`));
        let before = null;
        path.blocks.forEach((number, i) => {
            this.code.append(this.block(number, before, i));
            before = number;
        });
        if (path.length > path.blocks.length)
            this.code.append(
                node('p', {class: 'faint'}, `and ${path.length - path.blocks.length} blocks more`));
    }
    // How control came from the block before.
    step(number, before) {
        if (before === null) return ['', ''];
        const {code} = this.blocks[before];
        const last = code.length ? code[code.length - 1][1] : '';
        const here = profile.place(this.blocks[number].at),
              there = profile.place(this.blocks[before].at);
        if (last.startsWith('call')) return ['calls', 'far'];
        if (last.startsWith('ret')) return ['returns', 'far'];
        if (here.function !== there.function) return ['goes on in', 'far'];
        if (!last.startsWith('j')) return ['', ''];
        if (number === before) return ['\u21ba loops', 'near'];
        const from = code.length ? code[code.length - 1][0] : there.address;
        const back = BigInt(here.address) <= BigInt(from);
        if (back) return ['\u2191 jumps back', 'near'];
        return last.startsWith('jmp') || this.isTarget(last, here.address) ?
            ['\u2193 jumps', 'near'] :
            ['falls through', ''];
    }
    isTarget(text, address) {
        const target = /0x[0-9a-f]+/i.exec(text);
        return target !== null && BigInt(target[0]) === BigInt(address);
    }
    block(number, before, i) {
        const {at, code} = this.blocks[number];
        const place = profile.place(at);
        const [step, kind] = this.step(number, before);
        const isNew =
            before === null || profile.place(this.blocks[before].at).function !== place.function;
        const box = node('div', {class: `path-block ${isNew ? 'enters' : ''}`});
        if (step && kind) box.append(node('div', {class: `step ${kind}`}, step));
        if (isNew || kind)
            box.append(node(
                'div', {class: 'path-place'},
                functionLink(place.function, placeName(place), place.address),
                node(
                    'span', {class: 'faint'},
                    isNew ? ` ${profile.moduleName(place.function)} ` : ' '),
                node('span', {class: 'source', title: place.file}, sourceName(place))));
        if (code.length === 0)
            box.append(
                node('div', {class: 'path-line faint'}, place.text || 'its code is not known'));
        let line = before === null ? -1 : this.lastLine;
        for (const each of code) {
            const [address, text, file, number] = each;
            const source = number ? this.source(place.function, file, number) : undefined;
            if (source !== undefined && number !== line)
                box.append(node(
                    'div', {class: 'path-line source-line'},
                    node('span', {class: 'line-number'}, String(number)),
                    node('code', {}, source)));
            line = number;
            box.append(this.instruction(address, text, each));
        }
        this.lastLine = line;
        return box;
    }
    instruction(address, text, [, , , , known]) {
        const value = known && valueOf(known);
        return node(
            'div', {class: 'path-line'}, node('span', {class: 'address'}, address.slice(2)),
            instructionText(text),
            value ? node(
                        'span',
                        {class: 'known', title: `in ${percent(value.invariance)} of executions`},
                        `${value.operand} = ${valueText(value)}`) :
                    '');
    }
    source(around, file, line) {
        const code = codeOf(around);
        return code && file !== null ? code.sourceLine(file, line) : undefined;
    }
}

function showPaths(container, words) { new PathView(container, words); }
