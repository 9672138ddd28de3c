// The statements of a complete run, divided into parts that are killed one after the other. Numbers begin at 0, and `to` is
// exclusive.

export interface SentBy {
  readonly words: readonly string[]
  readonly texts: readonly string[]
}

/** Consecutive statements of a run. */
export interface Range {
  readonly from: number
  readonly to: number
}

/** Statements up to the end of a transaction. If a run is killed before that end, they have no effect. */
export interface Segment extends Range {
  /** The command that sends only these statements, if any. */
  readonly part: readonly string[] | undefined
}

/** Removes the parts of a statement that differ from run to run. */
export function withoutSecrets(text: string): string {
  return text.replaceAll(/SCRAM-SHA-256\$[^']+/g, 'SCRAM-SHA-256')
}

/**
 * Divides the statements of a run into segments.
 * @param parts commands that send the same statements as a part of the run. When a killed run is repeated, it would reach some
 * parts late. It would reach a read-only part only after all work is done
 * @throws Error if the run does not contain the statements of a part
 */
export function listSegments(texts: readonly string[], parts: readonly SentBy[]): readonly Segment[] {
  const placed = parts
    .map((part) => ({ ...part, from: findLast(texts, part) }))
    .toSorted((one, other) => one.from - other.from)
  const segments: Segment[] = []
  let from = 0
  const add = (part: Segment['part'], to: number): void => {
    if (to > from) segments.push({ part, from, to })
    from = to
  }
  const addAll = (part: Segment['part'], to: number): void => {
    for (let nth = from; nth < to; nth += 1) if (/^(commit|rollback)$/i.test(texts[nth] ?? '')) add(part, nth + 1)
    add(part, to)
  }
  for (const part of placed) {
    addAll(undefined, part.from)
    addAll(part.words, part.from + part.texts.length)
  }
  addAll(undefined, texts.length)
  return segments
}

function findLast(texts: readonly string[], part: SentBy): number {
  for (let from = texts.length - part.texts.length; from >= 0; from -= 1) {
    if (part.texts.every((text, nth) => text === texts[from + nth])) return from
  }
  throw new Error(`no part of the run has the ${part.texts.length} statements of ${part.words.join(' ')}`)
}

/** Whether a run ends with these statements. */
export function endsWith(sent: readonly string[], texts: readonly string[]): boolean {
  const from = sent.length - texts.length
  if (from < 0 || sent.at(-1) !== texts.at(-1)) return false
  return texts.every((text, nth) => sent[from + nth] === text)
}

/** Whether a statement runs another statement on other servers, which remains after its transaction is killed. */
function isLasting(text: string): boolean {
  return /success, result\s+FROM run_command_on_workers\('/.test(text)
}

export function isOfServers(text: string): boolean {
  return isLasting(text) && text.includes('ALTER ROLE')
}

/**
 * Returns the start of a segment's lasting effects: the number of the first statement that ends the segment or may be sent only
 * once, because the next run finds its effect.
 */
export function findLasting(texts: readonly string[], { from, to }: Range): number {
  const nth = texts.findIndex((text, index) => index >= from && isLasting(text))
  return nth < 0 || nth >= to ? to - 1 : nth
}

/**
 * Divides the statements of a run into shares of similar size. They are killed concurrently, each on its own database. The first
 * share ends with the changes of servers for all databases, so it is killed alone.
 */
export function listShares(texts: readonly string[], size: number): readonly Range[] {
  const ofServers = texts.findLastIndex(isOfServers)
  const first = ofServers < 0 ? 0 : texts.indexOf('commit', ofServers) + 1
  const count = Math.ceil((texts.length - first) / size)
  const others = Array.from({ length: count }, (_, nth) => ({
    from: first + nth * size,
    to: Math.min(first + (nth + 1) * size, texts.length),
  }))
  return [{ from: 0, to: first }, ...others]
}
