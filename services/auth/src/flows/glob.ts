/** A glob of URI_ALLOW_LIST. The service compiles it at startup. */
export interface Glob {
  readonly source: string
  /** Whether all of `text` matches, in time proportional to text × glob, because it never backtracks. */
  matches(text: string): boolean
}

type Instruction =
  | { readonly op: 'consume'; readonly accepts: (character: string) => boolean }
  | { readonly op: 'split'; readonly targets: readonly number[] }
  | { readonly op: 'match' }

/**
 * Compiles a glob into programs that run many states in parallel (Thompson's construction). A text must match both as written and
 * with the separators of its path decoded. A server may decode a path before splitting it, so a wildcard that stops at `/` must
 * also stop at `%2f`.
 * @throws SyntaxError
 */
export function compileGlob(source: string): Glob {
  const written = compile(source)
  const decoded = compile(withDecodedSeparators(source))
  return { source, matches: (text) => matchesProgram(written, text) && matchesProgram(decoded, decodePath(text)) }
}

function compile(source: string): readonly Instruction[] {
  const program: Instruction[] = []
  emit(parseGlob(source), program)
  program.push({ op: 'match' })
  return program
}

function decodePath(text: string): string {
  const [path = ''] = text.split('?', 1)
  return decodeSeparators(path) + text.slice(path.length)
}

/**
 * Returns a glob that matches each encoded separator of `source` as written or decoded, because only the path of a text is
 * decoded. Each character may have a preceding backslash.
 */
function withDecodedSeparators(source: string): string {
  return source.replaceAll(
    /\\\\|\\?%(?:\\?2\\?5)*(?:\\?2\\?(e)|\\?2\\?f|\\?5\\?c)/gi,
    (written, dot: string | undefined) => (written === '\\\\' ? written : `{${written},${dot ? '.' : '/'}}`),
  )
}

/** Decodes dots, slashes and backslashes, even if encoded repeatedly. A backslash becomes a slash, as in browsers. */
function decodeSeparators(text: string): string {
  return text.replaceAll(/%(?:25)*(?:(2e)|2f|5c)/gi, (_match, dot: string | undefined) => (dot ? '.' : '/'))
}

/** Returns a glob that matches only its own text. */
export function exactGlob(source: string): Glob {
  return { source, matches: (text) => text === source }
}

function emit(nodes: readonly GlobNode[], program: Instruction[]): void {
  for (const node of nodes) {
    if (node.kind === 'one') program.push({ op: 'consume', accepts: node.accepts })
    if (node.kind === 'run') {
      const start = program.length
      program.push(
        { op: 'split', targets: [start + 1, start + 3] },
        { op: 'consume', accepts: node.accepts },
        { op: 'split', targets: [start] },
      )
    }
    if (node.kind === 'either') emitEither(node.options, program)
  }
}

function emitEither(options: readonly (readonly GlobNode[])[], program: Instruction[]): void {
  const entry = program.length
  program.push({ op: 'match' })
  const starts: number[] = []
  const exits: number[] = []
  for (const option of options) {
    starts.push(program.length)
    emit(option, program)
    exits.push(program.length)
    program.push({ op: 'match' })
  }
  program[entry] = { op: 'split', targets: starts }
  for (const exit of exits) program[exit] = { op: 'split', targets: [program.length] }
}

function matchesProgram(program: readonly Instruction[], text: string): boolean {
  let states = closure(program, [0])
  for (const character of text) {
    const next: number[] = []
    for (const state of states) {
      const instruction = program[state]
      if (instruction?.op === 'consume' && instruction.accepts(character)) next.push(state + 1)
    }
    if (next.length === 0) return false
    states = closure(program, next)
  }
  for (const state of states) if (program[state]?.op === 'match') return true
  return false
}

/** Returns all states that are reachable without reading a character. */
function closure(program: readonly Instruction[], from: readonly number[]): Set<number> {
  const reached = new Set<number>()
  const pending = [...from]
  for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
    if (reached.has(state)) continue
    reached.add(state)
    const instruction = program[state]
    if (instruction?.op === 'split') pending.push(...instruction.targets)
  }
  return reached
}

/** One part of a glob: a single character, a run of characters, or alternatives. */
type GlobNode =
  | { readonly kind: 'one'; readonly accepts: (character: string) => boolean }
  | { readonly kind: 'run'; readonly accepts: (character: string) => boolean }
  | { readonly kind: 'either'; readonly options: readonly (readonly GlobNode[])[] }

interface GlobPlace {
  readonly characters: readonly string[]
  position: number
  /** The number of slashes read. Below three, the glob is still in the scheme or the authority. */
  slashes: number
}

/**
 * Parses a glob (reference: Redirect rules). `*` and `?` stop at the separators `.` and `/`, but `**` does not. Further forms are
 * `[abc]`, `[a-z]`, `[!abc]`, `{a,b}` and `\x`. A negated class does not match a separator. Before the path, `*`, `?` and negated
 * classes do not match a question mark, because `https://*.h` must not accept `https://elsewhere?.h`.
 * @throws SyntaxError if a bracket, brace or escape is not closed, or if a range is reversed
 */
function parseGlob(source: string): readonly GlobNode[] {
  const cursor: GlobPlace = { characters: [...source], position: 0, slashes: 0 }
  const nodes: GlobNode[] = []
  while (peek(cursor) !== undefined) nodes.push(parseNode(cursor))
  return nodes
}

const isSeparator = (character: string): boolean => character === '.' || character === '/'

function parseNode(cursor: GlobPlace): GlobNode {
  const character = takeCharacter(cursor)
  if (character === '*') {
    if (peek(cursor) !== '*') return { kind: 'run', accepts: withinLabel(cursor) }
    takeCharacter(cursor)
    return { kind: 'run', accepts: () => true }
  }
  if (character === '?') return { kind: 'one', accepts: withinLabel(cursor) }
  if (character === '[') return { kind: 'one', accepts: parseClass(cursor) }
  if (character === '{') return parseBraces(cursor)
  const literal = character === '\\' ? takeCharacter(cursor) : character
  if (literal === '/') cursor.slashes += 1
  return { kind: 'one', accepts: (candidate) => candidate === literal }
}

function withinLabel({ slashes }: GlobPlace): (character: string) => boolean {
  const inAuthority = slashes < 3
  return (character) => !isSeparator(character) && !(inAuthority && character === '?')
}

function parseBraces(cursor: GlobPlace): GlobNode {
  const options: GlobNode[][] = []
  const { slashes } = cursor
  do {
    cursor.slashes = slashes
    options.push(parseOption(cursor))
  } while (takeCharacter(cursor) === ',')
  // Do not count slashes in options, because only some options may end the authority. The stricter rules of the authority then
  // apply to the rest.
  cursor.slashes = slashes
  return { kind: 'either', options }
}

/** Parses one option of `{a,b}`, up to its comma or closing brace. */
function parseOption(cursor: GlobPlace): GlobNode[] {
  const nodes: GlobNode[] = []
  for (let next = peek(cursor); next !== undefined; next = peek(cursor)) {
    if (next === ',' || next === '}') return nodes
    nodes.push(parseNode(cursor))
  }
  throw new SyntaxError('a brace is not closed')
}

function parseClass(cursor: GlobPlace): (character: string) => boolean {
  const negated = peek(cursor) === '!'
  if (negated) takeCharacter(cursor)
  const ranges: (readonly [string, string])[] = []
  do {
    ranges.push(parseRange(cursor))
  } while (peek(cursor) !== ']')
  takeCharacter(cursor)
  const listed = (character: string): boolean => ranges.some(([low, high]) => low <= character && character <= high)
  if (!negated) return listed
  const accepts = withinLabel(cursor)
  return (character) => accepts(character) && !listed(character)
}

function parseRange(cursor: GlobPlace): readonly [string, string] {
  const low = takeClassCharacter(cursor)
  if (peek(cursor) !== '-' || cursor.characters[cursor.position + 1] === ']') return [low, low]
  takeCharacter(cursor)
  const high = takeClassCharacter(cursor)
  if (high < low) throw new SyntaxError(`the range ${low}-${high} runs backwards`)
  return [low, high]
}

function takeClassCharacter(cursor: GlobPlace): string {
  const character = takeCharacter(cursor)
  if (character === ']') throw new SyntaxError('a class is empty')
  return character === '\\' ? takeCharacter(cursor) : character
}

function peek(cursor: GlobPlace): string | undefined {
  return cursor.characters[cursor.position]
}

function takeCharacter(cursor: GlobPlace): string {
  const character = peek(cursor)
  if (character === undefined) throw new SyntaxError('a bracket, brace or escape is not closed')
  cursor.position += 1
  return character
}
