/** The keys that lead to a value inside the attributes, from the outermost on. */
export type AttributePath = readonly string[]

const KEYS_MAX = 8
/** A key in double quotes with the escapes of JSON, or a key without special characters. */
const KEY = /(?:("(?:[^"\\]|\\.)*")|([^."[\]]+))(\.|$)/y

/** Reads keys joined with dots, such as `dim.w` and `"a.b".c` (reference: Filter paths). Undefined for any other text. */
export function parseAttributePath(text: string): AttributePath | undefined {
  const keys: string[] = []
  KEY.lastIndex = 0
  for (let more = true; more; ) {
    const [, quoted, plain, dot] = KEY.exec(text) ?? []
    const key = quoted === undefined ? plain : unquote(quoted)
    if (key === undefined || key.includes('\0') || !key.isWellFormed() || keys.length === KEYS_MAX) return undefined
    keys.push(key)
    more = dot === '.'
  }
  return keys
}

function unquote(literal: string): string | undefined {
  try {
    return String(JSON.parse(literal))
  } catch {
    return undefined
  }
}

/** The path as jsonpath. It leads through objects only, never into arrays. */
export function toJsonPath(path: AttributePath): string {
  return `strict $${path.map((key) => `.${JSON.stringify(key)}`).join('')}`
}

/** The JSON of nested objects that hold `literal`, which is JSON, at the path. */
export function nestJson(path: AttributePath, literal: string): string {
  return path.reduceRight((inner, key) => `{${JSON.stringify(key)}:${inner}}`, literal)
}

/** A path that equals another path or is the beginning of one, so that both cannot have values; undefined when there is none. */
export function findClash(paths: readonly AttributePath[]): AttributePath | undefined {
  return paths.find((path, at) =>
    paths.some((other, i) => i !== at && path.every((key, depth) => key === other[depth])),
  )
}
