// A NUMBER FOR EACH TEXT, without keeping the texts: two hashes of 32 bits stand for one. Two texts of some millions that
// share both are less likely than one in a thousand, and would hide a world, never make one up.

export class Numbering {
  #slots = 1 << 16;
  #first = new Uint32Array(this.#slots);
  #second = new Uint32Array(this.#slots);
  #numbers = new Int32Array(this.#slots).fill(-1);
  size = 0;

  /** The number of `text`: from 0, in the order of first appearance. */
  of(text: string): number {
    let first = 0x811c9dc5;
    let second = 0x9747b28c;
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      first = Math.imul(first ^ code, 0x01000193);
      second = Math.imul(second ^ code, 0x5bd1e995);
      second ^= second >>> 15;
    }
    return this.#at(first >>> 0, second >>> 0);
  }

  #at(first: number, second: number): number {
    if (this.size * 2 > this.#slots) this.#grow();
    const slot = this.#slot(first, second);
    if (this.#numbers[slot]! < 0) {
      this.#first[slot] = first;
      this.#second[slot] = second;
      this.#numbers[slot] = this.size;
      this.size += 1;
    }
    return this.#numbers[slot]!;
  }

  #slot(first: number, second: number): number {
    let slot = (first ^ (first >>> 15)) & (this.#slots - 1);
    while (this.#numbers[slot]! >= 0 && (this.#first[slot] !== first || this.#second[slot] !== second))
      slot = (slot + 1) & (this.#slots - 1);
    return slot;
  }

  #grow(): void {
    const [first, second, numbers] = [this.#first, this.#second, this.#numbers];
    this.#slots *= 2;
    this.#first = new Uint32Array(this.#slots);
    this.#second = new Uint32Array(this.#slots);
    this.#numbers = new Int32Array(this.#slots).fill(-1);
    for (let old = 0; old < numbers.length; old += 1) {
      if (numbers[old]! < 0) continue;
      const slot = this.#slot(first[old]!, second[old]!);
      this.#first[slot] = first[old]!;
      this.#second[slot] = second[old]!;
      this.#numbers[slot] = numbers[old]!;
    }
  }
}

/** A list of small whole numbers that grows. */
export class Numbers {
  #values = new Int32Array(1 << 12);
  length = 0;

  push(value: number): void {
    if (this.length === this.#values.length) {
      const grown = new Int32Array(this.length * 2);
      grown.set(this.#values);
      this.#values = grown;
    }
    this.#values[this.length] = value;
    this.length += 1;
  }

  at(index: number): number {
    return this.#values[index]!;
  }
}
