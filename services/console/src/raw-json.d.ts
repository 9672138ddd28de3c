interface JSON {
  /** Returns a value that `JSON.stringify` writes as this text (ECMAScript 2026). */
  rawJSON(text: string): object
  isRawJSON(value: unknown): boolean
}
