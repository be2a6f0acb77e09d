// Which queues are shown: what is open, and what a search leaves.

/** At first levels are opened as long as no more rows than this are shown. */
const OPEN_AT_FIRST = 100;

class OpenTree {
    constructor(model) {
        this.model = model;
        this.open = new Set();
        this.found = null;
        this.openLevels();
    }

    openLevels() {
        let shown = 1;
        for (let level = [0]; level.length > 0;) {
            const next = level.flatMap((number) => this.model.queues[number]?.children ?? []);
            shown += next.length;
            if (shown > OPEN_AT_FIRST && level[0] !== 0) {
                return;
            }
            level.forEach((number) => this.open.add(number));
            level = next;
        }
    }

    /** Leaves these queues and those above them; null for all. */
    leave(queues) {
        this.found = queues && new Set(queues);
        this.kept = null;
        if (queues) {
            this.kept = new Set(queues.flatMap((number) => [...this.model.lineage(number)]));
            this.shut = new Set();
        }
    }

    isOpen(number) {
        const children = this.model.queues[number].children;
        if (this.kept) {
            return children.some((child) => this.kept.has(child)) ? !this.shut.has(number) : null;
        }
        return children.length > 0 ? this.open.has(number) : null;
    }

    toggle(number, open) {
        if (this.kept) {
            this.shut[open ? 'delete' : 'add'](number);
        } else {
            this.open[open ? 'add' : 'delete'](number);
        }
    }

    /** Opens whatever hides a queue. */
    reveal(number) {
        for (const above of [...this.model.lineage(number)].slice(1)) {
            this.open.add(above);
            this.shut?.delete(above);
        }
    }

    all(open) {
        this.model.queues.filter((queue) => queue.children.length > 0).forEach((queue) => this.toggle(queue.number, open || queue.parent === null));
    }

    /** The numbers of the queues to show, in order. */
    rows() {
        const rows = [];
        for (let number = 0; number < this.model.queues.length;) {
            if (this.kept && !this.kept.has(number)) {
                number = this.model.queues[number].end;
                continue;
            }
            rows.push(number);
            number = this.isOpen(number) === false ? this.model.queues[number].end : number + 1;
        }
        return rows;
    }

    /** The place of a queue among those shown beside it. */
    place(number) {
        const queue = this.model.queues[number];
        const beside = queue.parent === null ? [number] : this.model.queues[queue.parent].children;
        if (!this.kept) {
            return { level: queue.level, of: beside.length, at: queue.at ?? 1 };
        }
        const kept = beside.filter((each) => this.kept.has(each));
        return { level: queue.level, of: kept.length, at: kept.indexOf(number) + 1 };
    }
}
