// Call stacks as one tree.

// Node 0 is the whole. A caller comes before what it calls, the hottest first.
class CallTree {
    constructor(data) {
        this.data = data;
        const count = data.tree.rows.length + 1;
        this.count = count;
        this.total = data.total;
        this.frames = rowsOf(data.frames);
        this.frame = new Int32Array(count).fill(-1);
        this.depth = new Int32Array(count);
        this.parent = new Int32Array(count).fill(-1);
        this.self = new Float64Array(count);
        this.size = new Float64Array(count);
        this.size[0] = data.total;
        this.deepest = 0;
        const open = [0];
        data.tree.rows.forEach(([frame, depth, self, total], i) => {
            const index = i + 1;
            open.length = depth;
            this.frame[index] = frame;
            this.depth[index] = depth;
            this.parent[index] = open[depth - 1];
            this.self[index] = self;
            this.size[index] = total;
            open.push(index);
            this.deepest = Math.max(this.deepest, depth);
        });
        // The frames of a stretch are those of the whole run, so only some of them are in its tree.
        this.names =
            new Set([...new Set(this.frame.subarray(1))].map((frame) => this.frames[frame].name));
    }
    name(index) { return index === 0 ? 'all' : this.frames[this.frame[index]].name; }
    // The direct callees of each node.
    callees() {
        if (!this.lists) {
            this.lists = Array.from({length: this.count}, () => []);
            for (let i = 1; i < this.count; ++i) this.lists[this.parent[i]].push(i);
        }
        return this.lists;
    }
    // The outermost calls of a function. So each stack that the function is in is in one of them.
    outermost(name) {
        const inside = new Uint8Array(this.count), found = [];
        for (let i = 1; i < this.count; ++i) {
            const is = this.name(i) === name;
            if (is && !inside[this.parent[i]]) found.push(i);
            inside[i] = is || inside[this.parent[i]] ? 1 : 0;
        }
        return found;
    }
    // Names of functions, by what is spent in them and in what they call, the most first.
    byWeight() {
        const sums = new Map();
        const open = [];  // the names of the frames that the current one is in
        for (let i = 1; i < this.count; ++i) {
            open.length = this.depth[i] - 1;
            const name = this.name(i);
            if (!open.includes(name)) sums.set(name, (sums.get(name) || 0) + this.size[i]);
            open.push(name);
        }
        return [...sums].sort(([, a], [, b]) => b - a);
    }
}

// The call tree of the chosen stretch of the run, or of the whole run.
let callTree = null;
function shownCallTree() {
    const data = shownFlame();
    if (!callTree || callTree.data !== data) callTree = new CallTree(data);
    return callTree;
}
