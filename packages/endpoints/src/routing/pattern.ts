export interface HandlerPlace {
  /** The URL names of the modules on the path. The list is empty for the root. */
  readonly modulePath: readonly string[]
  /** The URL names below the module: first the classes, then the suffix. */
  readonly classPath: readonly string[]
}

/** The number of positionals that a handler accepts, and their names. */
export interface Positionals {
  /** The names of the positionals that the source shows. */
  readonly names: readonly string[]
  readonly binding: { readonly places: number }
}

export function basePath({ modulePath, classPath }: HandlerPlace): string {
  return `/${[...modulePath, ...classPath].join('/')}`
}

/**
 * Returns the names of the positionals, in order. The last name may stand for all remaining positionals. Removes a leading `_`,
 * which marks an unused parameter.
 */
export function placeNames({ names, binding }: Positionals): readonly string[] {
  const places = new Set<string>()
  for (let i = 0; places.size < binding.places; i += 1) {
    const name = names[i]?.replace(/^_+/, '') || `arg${i + 1}`
    places.add(places.has(name) ? `${name}${i + 1}` : name)
  }
  return [...places]
}

/** Returns the URL for each number of positionals, such as `['/foo', '/foo/{che}']`. The rest counts as one. */
export function buildPatterns(route: HandlerPlace & Positionals): readonly string[] {
  const base = basePath(route)
  const places = placeNames(route).map((name) => `{${name}}`)
  return [base, ...places.map((_, i) => `${base === '/' ? '' : base}/${places.slice(0, i + 1).join('/')}`)]
}

/** Returns the URL for this number of positionals. */
export function patternOf({ patterns }: { readonly patterns: readonly string[] }, count: number): string {
  return patterns[Math.min(count, patterns.length - 1)] ?? ''
}
