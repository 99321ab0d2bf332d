// The run in time: a lane for each process and thread, with its samples; phases above.

const laneHeight = 20, axisHeight = 22, phaseHeight = 16;
// In seconds. Samples begin at whole microseconds.
const leastZoom = 1e-6, leastTick = 1e-6, tickDigits = 6;
// Colours of how samples ended, the most frequent end first.
const endColours = ['bar', 'taken', 'match', 'hot', 'module-3', 'faint'];

class Timeline {
    constructor(container) {
        const data = part('timeline');
        this.samples = data.samples;
        this.count = data.samples.start_us.length;
        this.kinds = data.kinds;
        this.ends = data.ends;
        this.changes = rowsOf(data.changes);
        this.threads = rowsOf(data.threads);
        this.commands = new Map(rowsOf(data.processes).map(({pid, command}) => [pid, command]));
        this.readLanes();
        this.readPhases();
        this.readRange(data.seconds);
        this.focused = this.hovered = -1;
        this.build(container, data);
        this.listen();
        this.colours();
        this.draw();
        this.describe();
    }
    // The threads of a process follow each other, the first to begin first.
    readLanes() {
        const start = (thread) => thread.start_us === null ? Infinity : thread.start_us;
        const begin = new Map();
        for (const thread of this.threads)
            begin.set(thread.pid, Math.min(start(thread), begin.get(thread.pid) ?? Infinity));
        const order = this.threads.map((thread, index) => index).sort((a, b) => {
            const one = this.threads[a], other = this.threads[b];
            return begin.get(one.pid) - begin.get(other.pid) || one.pid - other.pid ||
                start(one) - start(other) || one.tid - other.tid;
        });
        this.lanes = order;  // the thread of each lane
        this.laneOf = new Int32Array(this.threads.length);
        order.forEach((thread, lane) => {
            this.laneOf[thread] = lane;
        });
        this.inLane = order.map(() => []);
        for (let i = 0; i < this.count; ++i)
            this.inLane[this.laneOf[this.samples.thread[i]]].push(i);
    }
    // Samples of the same phase that follow each other.
    readPhases() {
        this.bands = [];
        for (let i = 0; i < this.count; ++i) {
            const last = this.bands[this.bands.length - 1];
            if (last && last.phase === this.samples.phase[i])
                last.samples += 1;
            else
                this.bands.push({phase: this.samples.phase[i], from: this.start(i), samples: 1});
        }
        this.bands.forEach((band, i) => {
            band.to = i + 1 < this.bands.length ? this.bands[i + 1].from : null;
        });
        if (new Set(this.bands.map((band) => band.phase)).size < 2) this.bands = [];
    }
    readRange(seconds) {
        let from = Infinity, to = -Infinity;
        const widen = (us) => {
            if (us === null) return;
            from = Math.min(from, us / 1e6);
            to = Math.max(to, us / 1e6);
        };
        for (const thread of this.threads) {
            widen(thread.start_us);
            widen(thread.end_us);
        }
        for (let i = 0; i < this.count; ++i) widen(this.samples.start_us[i]);
        if (!(from < to)) [from, to] = [0, seconds > 0 ? seconds : 1];
        this.whole = {from, to};
        this.range = this.whole;
    }
    build(container, data) {
        this.canvas = node('canvas', {
            tabindex: 0,
            role: 'img',
            'data-timeline': true,
            'aria-label': `Timeline of ${counted(this.threads.length, 'thread')} and ` +
                `${counted(this.count, 'sample')}; arrows go from sample to sample, [ and ] ` +
                'choose a stretch, z zooms'
        });
        this.spacer = node('div', {class: 'flame-spacer'}, this.canvas);
        this.scroll = node('div', {class: 'flame-scroll'}, this.spacer);
        this.status = node('p', {class: 'flame-status', role: 'status'});
        const left = [];
        if (data.stride > 1) left.push(`one of ${exactCount(data.stride)} samples is listed`);
        if (data.threads_left_out > 0)
            left.push(`${counted(data.threads_left_out, 'thread')} are not listed`);
        this.zoomButton = node('button', {type: 'button', onclick: () => this.zoom()});
        this.root = node(
            'section', {class: 'flame-view timeline-view'}, node('h2', {}, 'Timeline'),
            node(
                'div', {class: 'tools'},
                this.count ? 'drag over a stretch to see its functions and its flame graph alone' :
                             'processes and threads; there are no samples',
                left.length ? ` \u00b7 ${left.join('; ')}` : '', node('span', {class: 'space'}),
                this.count ? this.zoomButton : ''),
            this.legend(), this.status, this.scroll);
        container.append(this.root);
    }
    // How samples were taken, and how they ended, with their numbers.
    legend() {
        const kinds = new Map(), ends = new Map();
        const note = (counts, key) => counts.set(key, (counts.get(key) || 0) + 1);
        for (let i = 0; i < this.count; ++i) {
            note(kinds, this.samples.kind[i]);
            note(ends, this.samples.end[i]);
        }
        const most = (counts) => [...counts].sort((a, b) => b[1] - a[1]);
        this.colourOf =
            new Map(most(ends).map(([end], i) => [end, Math.min(i, endColours.length - 1)]));
        const kind = ([key, count]) => node(
            'span', {}, node('span', {class: `swatch kind-${key === 0 ? 'whole' : 'half'}`}),
            `${this.kinds[key]} ${shortCount(count)}`);
        const end = ([key, count]) => {
            const swatch = node('span', {class: 'swatch'});
            swatch.style.background = `var(--${endColours[this.colourOf.get(key)]})`;
            return node('span', {}, swatch, `${this.ends[key]} ${shortCount(count)}`);
        };
        if (!this.count) return '';
        return node(
            'p', {class: 'timeline-legend'}, node('span', {class: 'faint'}, 'taken as'),
            most(kinds).map(kind), node('span', {class: 'faint'}, 'ended by'), most(ends).map(end));
    }
    start(sample) { return this.samples.start_us[sample] / 1e6; }
    colours() {
        const style = getComputedStyle(document.documentElement);
        const get = (name) => style.getPropertyValue(`--${name}`).trim();
        this.colour = {
            text: get('text'),
            faint: get('faint'),
            line: get('line'),
            life: get('cool'),
            back: get('background'),
            raised: get('raised'),
            accent: get('accent'),
            selected: get('selected'),
            ends: endColours.map(get),
            phases: [0, 1, 2, 3, 4, 5].map((i) => get(`module-${i}`))
        };
    }

    // Pixels.
    get gutter() { return Math.min(240, Math.max(90, Math.round(this.width * 0.22))); }
    get top() { return axisHeight + (this.bands.length ? phaseHeight : 0); }
    x(seconds) {
        const {from, to} = this.range;
        return this.gutter + (seconds - from) / (to - from) * (this.width - this.gutter - 12);
    }
    secondsAt(x) {
        const {from, to} = this.range;
        const share = (x - this.gutter) / (this.width - this.gutter - 12);
        return from + Math.max(0, Math.min(1, share)) * (to - from);
    }
    y(lane) { return this.top + lane * laneHeight - this.scroll.scrollTop; }
    draw() {
        this.width = this.scroll.clientWidth;
        const height = this.scroll.clientHeight, scale = devicePixelRatio || 1;
        if (this.width === 0 || height === 0) return;
        this.spacer.style.height = `${this.top + this.lanes.length * laneHeight + 6}px`;
        this.canvas.width = Math.round(this.width * scale);
        this.canvas.height = Math.round(height * scale);
        this.canvas.style.width = `${this.width}px`;
        this.canvas.style.height = `${height}px`;
        const context = this.canvas.getContext('2d');
        context.setTransform(scale, 0, 0, scale, 0, 0);
        context.textBaseline = 'middle';
        context.font = '11px system-ui, sans-serif';
        this.drawStretch(context, height);
        const first = Math.max(0, Math.floor(this.scroll.scrollTop / laneHeight));
        const last =
            Math.min(this.lanes.length - 1, first + Math.ceil((height - this.top) / laneHeight));
        for (let lane = first; lane <= last; ++lane) this.drawLane(context, lane);
        this.drawFocus(context);
        this.drawAxis(context, height);
        this.zoomButton.textContent = this.range === this.whole ? 'Zoom in (z)' : 'Zoom out (z)';
        this.zoomButton.disabled = this.range === this.whole && !this.canZoom();
    }
    canZoom() {
        const chosen = this.chosen();
        // Half a microsecond is for the rounding of the bounds.
        return Boolean(chosen) && chosen.to - chosen.from > leastZoom / 2;
    }
    // The stretch that the mouse is choosing, else the one that is chosen.
    chosen() { return this.dragged || stretch; }
    drawStretch(context, height) {
        const chosen = this.chosen();
        if (!chosen) return;
        const left = Math.max(this.gutter, this.x(chosen.from));
        const right = Math.min(this.width, this.x(chosen.to));
        context.fillStyle = this.colour.selected;
        if (right > left) context.fillRect(left, 0, Math.max(1, right - left), height);
    }
    drawAxis(context, height) {
        context.fillStyle = this.colour.back;
        context.fillRect(0, 0, this.gutter, this.top);
        context.fillRect(this.gutter, 0, this.width, this.top);
        const chosen = this.chosen();
        if (chosen) this.drawStretch(context, this.top);
        this.drawTicks(context, height);
        for (const change of this.changes) {
            const x = this.x(change.seconds);
            if (x < this.gutter || x > this.width) continue;
            context.fillStyle = this.colour.accent;
            context.fillRect(x - 1, axisHeight - 5, 3, 5);
        }
        this.drawPhases(context);
    }
    // The number of ticks is bounded, as the sum of a large time and a step may be that time.
    drawTicks(context, height) {
        const most = Math.max(1, (this.width - this.gutter) / 90);
        const step = this.tick(most), first = Math.ceil(this.range.from / step);
        const count = Math.min(most + 1, Math.floor(this.range.to / step) - first + 1);
        const digits = Math.min(tickDigits, Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)));
        context.fillStyle = this.colour.faint;
        context.strokeStyle = this.colour.line;
        context.lineWidth = 1;
        for (let i = 0; i < count; ++i) {
            const at = (first + i) * step, x = Math.round(this.x(at)) + 0.5;
            const text = `${at.toFixed(digits)} s`;
            context.beginPath();
            context.moveTo(x, 0);
            context.lineTo(x, height);
            context.stroke();
            if (x + context.measureText(text).width + 4 < this.width)
                context.fillText(text, x + 3, axisHeight / 2);
        }
    }
    // A round number of seconds, of which about `count` fill the range.
    tick(count) {
        const least = Math.max(leastTick, (this.range.to - this.range.from) / count);
        const power = 10 ** Math.floor(Math.log10(least));
        return [1, 2, 5].map((times) => times * power).find((each) => each >= least) || 10 * power;
    }
    drawPhases(context) {
        if (!this.bands.length) return;
        context.fillStyle = this.colour.faint;
        this.drawName(context, 'phases', axisHeight + phaseHeight / 2, 4);
        for (const band of this.bands) {
            const left = Math.max(this.gutter, this.x(band.from));
            const right = this.x(Math.min(band.to ?? Infinity, this.range.to));
            if (right <= left) continue;
            context.fillStyle = this.colour.phases[band.phase % 6];
            context.fillRect(
                left, axisHeight, Math.max(right - left - (right - left > 3 ? 1 : 0), 0.5),
                phaseHeight - 3);
            context.fillStyle = this.colour.text;
            if (right - left > 16)
                context.fillText(
                    String(band.phase + 1), left + 4, axisHeight + phaseHeight / 2 - 1);
        }
    }
    drawName(context, text, y, left) {
        context.fillText(this.fitted(context, text, this.gutter - left - 8), left, y);
    }
    fitted(context, text, room) {
        if (context.measureText(text).width <= room) return text;
        const count = Math.floor(text.length * room / context.measureText(text).width) - 1;
        return `${text.slice(0, Math.max(1, count))}\u2026`;
    }
    // The first lane of a process has the process's name, too.
    isFirst(lane) { return lane === 0 || this.thread(lane - 1).pid !== this.thread(lane).pid; }
    thread(lane) { return this.threads[this.lanes[lane]]; }
    laneName(lane) {
        const thread = this.thread(lane);
        const own = thread.name ? `${thread.name} ${thread.tid}` : String(thread.tid);
        if (!this.isFirst(lane)) return own;
        const command = this.commands.get(thread.pid);
        const name = command ? baseName(command.split(' ')[0]) : thread.name;
        return name ? `${name} ${thread.pid}` : String(thread.pid);
    }
    drawLane(context, lane) {
        const y = this.y(lane), thread = this.thread(lane);
        if (this.isFirst(lane) && lane > 0) {
            context.fillStyle = this.colour.line;
            context.fillRect(0, y, this.width, 1);
        }
        context.fillStyle = this.isFirst(lane) ? this.colour.text : this.colour.faint;
        this.drawName(
            context, this.laneName(lane), y + laneHeight / 2, this.isFirst(lane) ? 4 : 14);
        this.drawLife(context, thread, y);
        for (const sample of this.inLane[lane]) this.drawSample(context, sample, y);
    }
    // A line from the thread's begin to its end. A begin or an end that is not known is that of the
    // run; there is no line if neither is known.
    drawLife(context, {start_us: start, end_us: end}, y) {
        if (start === null && end === null) return;
        const from = start === null ? this.range.from : start / 1e6;
        const to = end === null ? this.range.to : end / 1e6;
        const left = Math.max(this.gutter, this.x(from));
        const right = Math.min(this.width - 2, this.x(to));
        if (right < this.gutter || left >= this.width) return;
        context.fillStyle = this.colour.life;
        context.fillRect(left, y + laneHeight / 2 - 2, Math.max(2, right - left), 4);
    }
    drawSample(context, sample, y) {
        const x = this.x(this.start(sample));
        if (x < this.gutter || x > this.width) return;
        const half = this.samples.kind[sample] !== 0;
        context.fillStyle = this.colour.ends[this.colourOf.get(this.samples.end[sample])];
        const top = half ? laneHeight / 2 : 3;
        context.fillRect(x - 1, y + top, 3, laneHeight - 3 - top);
    }
    drawFocus(context) {
        const isFocused = document.activeElement === this.canvas;
        for (const sample of [this.hovered, isFocused ? this.focused : -1]) {
            if (sample < 0) continue;
            const y = this.y(this.laneOf[this.samples.thread[sample]]);
            context.strokeStyle = this.colour.accent;
            context.lineWidth = 2;
            context.strokeRect(this.x(this.start(sample)) - 3, y + 1, 7, laneHeight - 2);
        }
    }

    listen() {
        this.canvas.addEventListener('mousemove', (event) => this.move(event));
        this.canvas.addEventListener('mouseleave', () => {
            this.hovered = -1;
            hideTooltip();
            this.draw();
        });
        this.canvas.addEventListener('mousedown', (event) => {
            const isInTime = event.offsetX >= this.gutter;
            if (event.button === 0 && isInTime && this.count) this.pressed = event.offsetX;
        });
        this.onUp = () => this.release();
        document.addEventListener('mouseup', this.onUp);
        this.canvas.addEventListener('keydown', (event) => this.key(event));
        for (const name of ['focus', 'blur']) this.canvas.addEventListener(name, () => this.draw());
        this.root.addEventListener('view-key', (event) => {
            if (event.detail !== 'Escape' || !stretch) return;
            event.preventDefault();
            this.choose(null);
        });
        this.stopDrawing = drawOnChange(this);
    }
    leave() {
        document.removeEventListener('mouseup', this.onUp);
        this.stopDrawing();
    }
    move(event) {
        const {offsetX: x, offsetY: y} = event;
        if (this.pressed !== undefined && Math.abs(x - this.pressed) > 2) {
            const [from, to] = [this.pressed, x].sort((a, b) => a - b);
            this.dragged = {from: this.secondsAt(from), to: this.secondsAt(to)};
            hideTooltip();
            return this.draw();
        }
        this.hovered = this.sampleAt(x, y);
        const content = this.hovered >= 0 ? this.facts(this.hovered) : this.factsOfPlace(x, y);
        if (content)
            showTooltip(content, event.clientX, event.clientY);
        else
            hideTooltip();
        this.draw();
    }
    release() {
        const dragged = this.dragged, pressed = this.pressed;
        this.dragged = this.pressed = undefined;
        // Shorter stretches have no address.
        if (dragged && secondsText(dragged.from) !== secondsText(dragged.to))
            return this.choose(dragged);
        if (pressed === undefined || this.hovered < 0) return;
        this.focused = this.hovered;
        this.describe();
        this.draw();
    }
    // The sample that is nearest to the place, and near it.
    sampleAt(x, y) {
        const lane = Math.floor((y + this.scroll.scrollTop - this.top) / laneHeight);
        if (y < this.top || lane < 0 || lane >= this.lanes.length || x < this.gutter) return -1;
        let nearest = -1, least = 5;
        for (const sample of this.inLane[lane]) {
            const distance = Math.abs(this.x(this.start(sample)) - x);
            if (distance < least) [nearest, least] = [sample, distance];
        }
        return nearest;
    }
    // The facts of the phase or the thread at this place; null if there is neither.
    factsOfPlace(x, y) {
        if (y < axisHeight) return null;
        const at = this.secondsAt(x);
        if (y < this.top) {
            const band = this.bands.find(
                (each) =>
                    x >= this.gutter && at >= each.from && (each.to === null || at < each.to));
            return band ?
                [`phase ${band.phase + 1}, ${counted(band.samples, 'sample')}, from ` +
                 `${secondsText(band.from)} s`] :
                null;
        }
        const lane = Math.floor((y + this.scroll.scrollTop - this.top) / laneHeight);
        return lane < this.lanes.length ? this.factsOfThread(lane) : null;
    }
    factsOfThread(lane) {
        const thread = this.thread(lane), command = this.commands.get(thread.pid);
        const time = (us) => us === null ? '?' : `${secondsText(us / 1e6)} s`;
        return [
            node('b', {}, this.laneName(lane)), node('br'),
            `process ${thread.pid}, thread ${thread.tid}`, node('br'),
            `from ${time(thread.start_us)} to ${time(thread.end_us)}, ` +
                counted(this.inLane[lane].length, 'sample'),
            ...(command ? [node('br'), command.slice(0, 300)] : [])
        ];
    }
    facts(sample) {
        const {samples} = this;
        const thread = this.threads[samples.thread[sample]];
        const time = samples.time_ns[sample];
        return [
            node('b', {}, `${secondsText(this.start(sample))} s`),
            `, ${this.kinds[samples.kind[sample]]}, ended by ${this.ends[samples.end[sample]]}`,
            node('br'),
            `process ${thread.pid}, thread ${thread.tid}${thread.name ? ` (${thread.name})` : ''}`,
            node('br'),
            `${shortCount(samples.instructions[sample])} instructions, counted as ` +
                shortCount(samples.counted[sample]) +
                (time ? `; stands for ${duration(time / 1e9)}` : ''),
            this.bands.length ? `; phase ${samples.phase[sample] + 1}` : ''
        ];
    }
    describe() {
        const content = this.focused >= 0 ? this.facts(this.focused) : [
            counted(this.threads.length, 'thread'),
            this.count ? `, ${counted(this.count, 'sample')}` : ''
        ];
        this.status.replaceChildren(
            ...add(
                node('span'),
                content.map(
                    (each) => each instanceof Node && each.nodeName === 'BR' ? ' \u00b7 ' : each))
                .childNodes);
    }

    // The address gets the stretch, and the view stays as it is.
    choose(chosen) {
        stretch = chosen;
        history.pushState(null, '', withChoices(location.hash || '#view=timeline'));
        if (!chosen) this.range = this.whole;
        drawStretchBar({key: 'timeline'});
        this.draw();
    }
    zoom() {
        this.range = this.range === this.whole && this.canZoom() ? {...this.chosen()} : this.whole;
        this.draw();
    }
    focus(sample) {
        if (sample === undefined) return;
        this.focused = sample;
        const lane = this.laneOf[this.samples.thread[sample]], y = lane * laneHeight;
        const room = this.scroll.clientHeight - this.top;
        if (y < this.scroll.scrollTop) this.scroll.scrollTop = y;
        if (y + laneHeight > this.scroll.scrollTop + room)
            this.scroll.scrollTop = y + laneHeight - room;
        this.describe();
        this.draw();
    }
    // The sample beside the focused one in its lane.
    beside(step) {
        if (this.focused < 0) return this.count ? 0 : undefined;
        const lane = this.inLane[this.laneOf[this.samples.thread[this.focused]]];
        return lane[lane.indexOf(this.focused) + step];
    }
    // The nearest sample of the next lane that has any.
    across(step) {
        if (this.focused < 0) return this.count ? 0 : undefined;
        let lane = this.laneOf[this.samples.thread[this.focused]] + step;
        while (this.inLane[lane] && !this.inLane[lane].length) lane += step;
        const at = this.start(this.focused);
        const distance = (sample) => Math.abs(this.start(sample) - at);
        return (this.inLane[lane] || [])
            .reduce(
                (best, each) => best === undefined || distance(each) < distance(best) ? each : best,
                undefined);
    }
    // A stretch from the focused sample on, or up to it and with it.
    bound(side) {
        if (this.focused < 0) return;
        const at = this.start(this.focused);
        const {from, to} = stretch || this.whole;
        if (side === 'from')
            this.choose({from: at, to: to > at ? to : this.whole.to + 1e-6});
        else
            this.choose({from: from <= at ? from : this.whole.from, to: at + 1e-6});
    }
    key(event) {
        const actions = {
            ArrowRight: () => this.focus(this.beside(1)),
            ArrowLeft: () => this.focus(this.beside(-1)),
            ArrowDown: () => this.focus(this.across(1)),
            ArrowUp: () => this.focus(this.across(-1)),
            '[': () => this.bound('from'),
            ']': () => this.bound('to'),
            z: () => this.zoom(),
        };
        if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        event.stopPropagation();
        actions[event.key]();
    }
}

function showTimeline(container) {
    const view = new Timeline(container);
    return () => view.leave();
}
