// The call tree as a flame graph on a canvas, with callers above their callees.

const rowHeight = 18;

class FlameGraph {
    constructor(container) {
        const tree = shownCallTree(), data = tree.data;
        this.tree = tree;
        for (const of of ['total', 'frames', 'frame', 'depth', 'parent', 'self', 'size', 'deepest'])
            this[of] = tree[of];
        for (const frame of this.frames) {
            const known = profile.byFullName.get(frame.name);
            frame.module = known ? known.module : -1;
            frame.shown = abbreviated(frame.name);
            frame.shade =
                [...frame.name].reduce((sum, each) => (sum * 31 + each.charCodeAt(0)) | 0, 7) & 3;
        }
        this.layOut();
        this.zoomed = this.focused = 0;
        this.words = byId('search').value.trim().toLowerCase();
        this.canvas = node('canvas', {
            tabindex: 0,
            role: 'img',
            'data-flame': true,
            'aria-label':
                'Flame graph of calls; arrows go from frame to frame, Enter zooms, o opens the ' +
                'code, w the callers'
        });
        this.spacer = node('div', {class: 'flame-spacer'}, this.canvas);
        this.scroll = node('div', {class: 'flame-scroll'}, this.spacer);
        this.status = node('p', {class: 'flame-status', role: 'status'});
        this.matched = node('span', {class: 'count'});
        const cut = data.cut > 0 ?
            `; what is below 1000 frames is cut, ${percent(ratio(data.cut, data.total))}` :
            '';
        this.root = node(
            'section', {class: 'flame-view'}, node('h2', {}, 'Flame graph'),
            node(
                'div', {class: 'tools'}, `${profile.unit} by call stack, callers above${cut} `,
                node('span', {class: 'legend'}, node('span', {class: 'swatch inlined'}), 'inlined'),
                node('span', {class: 'space'}), this.matched,
                node(
                    'button', {type: 'button', onclick: () => this.zoom(0)}, 'Zoom out',
                    node('kbd', {'aria-hidden': 'true'}, 'Esc'))),
            this.status, this.scroll);
        container.append(this.root);
        this.listen();
        this.colours();
        this.draw();
        this.describe(0);
    }
    // Callees lie below their caller from the left, hottest first.
    layOut() {
        const {count} = this.tree, filled = new Float64Array(count);
        this.start = new Float64Array(count);
        this.module = new Int32Array(count).fill(-1);
        for (let i = 1; i < count; ++i) {
            const parent = this.parent[i], frame = this.frames[this.frame[i]];
            this.start[i] = this.start[parent] + filled[parent];
            filled[parent] += this.size[i];
            // An inlined function belongs to the module that contains its code.
            this.module[i] = frame.inlined ? this.module[parent] : frame.module;
        }
        this.rows = Array.from({length: this.deepest + 1}, () => []);
        for (let i = 0; i < count; ++i) this.rows[this.depth[i]].push(i);
    }
    listen() {
        const at = (event) => this.nodeAt(event.offsetX, event.offsetY);
        this.canvas.addEventListener('mousemove', (event) => {
            const found = at(event);
            this.hover(found);
            if (found >= 0)
                showTooltip(this.description(found), event.clientX, event.clientY);
            else
                hideTooltip();
        });
        this.canvas.addEventListener('mouseleave', () => {
            this.hover(-1);
            hideTooltip();
        });
        this.canvas.addEventListener('click', (event) => {
            const found = at(event);
            if (found >= 0) this.zoom(found);
        });
        this.canvas.addEventListener('keydown', (event) => this.key(event));
        this.canvas.addEventListener('focus', () => this.draw());
        this.canvas.addEventListener('blur', () => this.draw());
        this.root.addEventListener('view-key', (event) => {
            if (event.detail !== 'Escape' || this.zoomed === 0) return;
            event.preventDefault();
            this.zoom(0);
        });
        this.onSearch = (event) => {
            this.words = event.detail;
            this.draw();
        };
        document.addEventListener('searched', this.onSearch);
        this.stopDrawing = drawOnChange(this);
    }
    leave() {
        document.removeEventListener('searched', this.onSearch);
        this.stopDrawing();
    }
    colours() {
        const style = getComputedStyle(document.documentElement);
        const get = (name) => style.getPropertyValue(`--${name}`).trim();
        this.colour = {
            text: get('flame-text'),
            back: get('background'),
            match: get('match'),
            line: get('line'),
            faint: get('faint-fill'),
            accent: get('accent'),
            unknown: this.shades(get('module-unknown')),
            modules: [0, 1, 2, 3, 4, 5].map((i) => this.shades(get(`module-${i}`)))
        };
    }
    // Four shades of a module's colour, so that neighbours can be told apart.
    shades(colour) {
        const parts = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
        return [0.92, 0.97, 1.02, 1.07].map(
            (factor) =>
                `rgb(${parts.map((each) => Math.min(255, Math.round(each * factor))).join(',')})`);
    }
    name(index) { return this.tree.name(index); }
    fill(index) {
        if (index === 0) return this.colour.faint;
        if (this.matches(index)) return this.colour.match;
        const module = this.module[index];
        const shades = module < 0 ? this.colour.unknown :
                                    this.colour.modules[module % this.colour.modules.length];
        return shades[this.frames[this.frame[index]].shade];
    }
    matches(index) {
        return this.words !== '' && index > 0 &&
            this.name(index).toLowerCase().includes(this.words);
    }
    // Left end and width in pixels at the current zoom. Ancestors of the zoomed node have the full
    // width.
    box(index, width) {
        const from = this.start[this.zoomed], size = this.size[this.zoomed];
        const left = (this.start[index] - from) / size * width;
        const right = left + this.size[index] / size * width;
        return [Math.max(0, left), Math.min(width, right)];
    }
    draw() {
        const width = this.scroll.clientWidth, height = this.scroll.clientHeight,
              scale = devicePixelRatio || 1;
        if (width === 0) return;
        this.spacer.style.height = `${(this.deepest + 1) * rowHeight}px`;
        this.canvas.width = Math.round(width * scale);
        this.canvas.height = Math.round(height * scale);
        this.canvas.style.width = `${width}px`;
        this.canvas.style.height = `${height}px`;
        const context = this.canvas.getContext('2d');
        context.setTransform(scale, 0, 0, scale, 0, 0);
        context.textBaseline = 'middle';
        const top = Math.floor(this.scroll.scrollTop / rowHeight);
        const bottom =
            Math.min(this.deepest, Math.ceil((this.scroll.scrollTop + height) / rowHeight));
        for (let depth = top; depth <= bottom; ++depth)
            for (const index of this.rows[depth]) this.drawFrame(context, index, width);
        this.showMatched();
    }
    drawFrame(context, index, width) {
        const [left, right] = this.box(index, width);
        const room = right - left;
        if (!(room >= 0.5)) return;
        const y = this.depth[index] * rowHeight - this.scroll.scrollTop;
        const frame = index === 0 ? {} : this.frames[this.frame[index]];
        context.globalAlpha = this.depth[index] < this.depth[this.zoomed] ? 0.45 : 1;
        context.fillStyle = this.fill(index);
        context.fillRect(left, y, Math.max(room - (room > 3 ? 1 : 0), 0.5), rowHeight - 1);
        if (frame.inlined) {
            context.fillStyle = this.colour.back;
            for (let x = left; x < right - 1; x += 6) context.fillRect(x, y + rowHeight - 3, 3, 2);
        }
        if (room > 26) {
            context.save();
            context.beginPath();
            context.rect(left, y, room - 4, rowHeight);
            context.clip();
            context.font = `${frame.inlined ? 'italic ' : ''}11px system-ui, sans-serif`;
            context.fillStyle = this.colour.text;
            context.fillText(
                this.fitted(context, index === 0 ? 'all' : frame.shown, room - 8), left + 4,
                y + rowHeight / 2);
            context.restore();
        }
        context.globalAlpha = 1;
        const focused = index === this.focused && document.activeElement === this.canvas;
        if (focused || index === this.hovered) {
            context.strokeStyle = this.colour.accent;
            context.lineWidth = focused ? 2 : 1;
            context.strokeRect(left + 1, y + 1, Math.max(room - 3, 1), rowHeight - 3);
        }
    }
    fitted(context, text, room) {
        if (context.measureText(text).width <= room) return text;
        const count =
            Math.max(1, Math.floor(text.length * room / context.measureText(text).width) - 1);
        return `${text.slice(0, count)}\u2026`;
    }
    nodeAt(x, y) {
        const depth = Math.floor((y + this.scroll.scrollTop) / rowHeight);
        const width = this.scroll.clientWidth;
        for (const index of this.rows[depth] || []) {
            const [left, right] = this.box(index, width);
            if (x >= left && x < right && right > left) return index;
        }
        return -1;
    }
    showMatched() {
        let sum = 0, inside = new Uint8Array(this.frame.length), any = false;
        for (let i = 1; i < this.frame.length && this.words; ++i) {
            const matches = this.matches(i);
            inside[i] = matches || inside[this.parent[i]] ? 1 : 0;
            if (matches && !inside[this.parent[i]]) sum += this.size[i];
            any = any || matches;
        }
        this.matched.textContent =
            this.words ? `${any ? percent(sum / this.total) : 'nothing'} matched ` : '';
    }
    description(index) {
        const frame = index === 0 ? null : this.frames[this.frame[index]];
        return [
            node('b', {}, this.name(index)), frame && frame.inlined ? ' inlined' : '', node('br'),
            `${percent(this.size[index] / this.total)}, ${profile.amount(this.size[index])}`,
            this.self[index] > 0 ? `; ${percent(this.self[index] / this.total)} its own` : '',
            frame && frame.file ? [node('br'), frame.file] : ''
        ];
    }
    describe(index) {
        const known = profile.byFullName.get(this.name(index));
        this.status.replaceChildren(
            ...add(
                node('span'),
                this.description(index).map(
                    (each) => each instanceof Node && each.nodeName === 'BR' ? ' \u00b7 ' : each))
                .childNodes,
            ...(known && known.code ? [' \u00b7 ', functionLink(known, 'its code')] : []),
            ...(index > 0 ? [' \u00b7 ', callersLink(this.name(index), 'its callers')] : []));
    }
    hover(index) {
        if (index === this.hovered) return;
        this.hovered = index;
        this.draw();
    }
    zoom(index) {
        this.zoomed = this.focused = index;
        this.describe(index);
        this.draw();
    }
    focus(index) {
        if (index === undefined || index < 0) return;
        this.focused = index;
        this.describe(index);
        const y = this.depth[index] * rowHeight;
        if (y < this.scroll.scrollTop) this.scroll.scrollTop = y;
        if (y + rowHeight > this.scroll.scrollTop + this.scroll.clientHeight)
            this.scroll.scrollTop = y + rowHeight - this.scroll.clientHeight;
        this.draw();
    }
    children(index) {
        return (this.rows[this.depth[index] + 1] || [])
            .filter((each) => this.parent[each] === index);
    }
    key(event) {
        const siblings = this.focused === 0 ? [0] : this.children(this.parent[this.focused]);
        const place = siblings.indexOf(this.focused);
        const known = profile.byFullName.get(this.name(this.focused));
        const actions = {
            ArrowDown: () => this.focus(this.children(this.focused)[0]),
            ArrowUp: () => this.focus(this.parent[this.focused]),
            ArrowRight: () => this.focus(siblings[place + 1]),
            ArrowLeft: () => this.focus(siblings[place - 1]),
            Enter: () => this.zoom(this.focused),
            o: () => {
                if (known && known.code) location.hash = functionHash(known);
            },
            w: () => {
                if (this.focused > 0) location.hash = callersHash(this.name(this.focused));
            },
        };
        if (!actions[event.key]) return;
        event.preventDefault();
        event.stopPropagation();
        actions[event.key]();
    }
}

function showFlame(container) {
    const graph = new FlameGraph(container);
    return () => graph.leave();
}
