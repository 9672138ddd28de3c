/** One part of a glob: a single character, a run of characters, or alternatives. */
export type GlobNode =
  | { readonly kind: 'one'; readonly accepts: (character: string) => boolean }
  | { readonly kind: 'run'; readonly accepts: (character: string) => boolean }
  | { readonly kind: 'either'; readonly options: readonly (readonly GlobNode[])[] }

interface GlobPlace {
  readonly characters: readonly string[]
  position: number
  /** The slashes read so far. Below three, the glob is still in its scheme and authority. */
  slashes: number
}

/**
 * Parses a glob (reference: Redirect rules). `*` and `?` stop at the separators `.` and `/`, `**` does not. There are `[abc]`,
 * `[a-z]`, `[!abc]`, `{a,b}` and `\x`. A negated class does not match a separator either. Before the path, `*`, `?` and negated
 * classes do not match a question mark: `https://*.h` must not accept `https://elsewhere?.h`.
 * @throws SyntaxError when a bracket, a brace or an escape is not closed, or a range runs backwards
 */
export function parseGlob(source: string): readonly GlobNode[] {
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
  // Some options may contain slashes that end the authority, others may not. Count none of them: the rest then stays bound by
  // the stricter rules of the authority.
  cursor.slashes = slashes
  return { kind: 'either', options }
}

/** Parses one option of `{a,b}`, up to the comma or the brace that ends it. */
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
