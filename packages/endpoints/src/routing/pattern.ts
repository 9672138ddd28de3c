export interface HandlerPlace {
  /** URL names of the modules on the way; empty for the root. */
  readonly modulePath: readonly string[]
  /** URL names below the module: classes, then the suffix. */
  readonly classPath: readonly string[]
}

/** How many positionals a handler takes, and their names. */
export interface Positionals {
  /** Names of the positionals, as far as the source tells them. */
  readonly names: readonly string[]
  readonly binding: { readonly places: number }
}

export function basePath({ modulePath, classPath }: HandlerPlace): string {
  return `/${[...modulePath, ...classPath].join('/')}`
}

/**
 * Names of the places for positionals, in order. The last one may name the rest. A leading `_`, which marks an unused
 * parameter, is dropped.
 */
export function placeNames({ names, binding }: Positionals): readonly string[] {
  const places = new Set<string>()
  for (let i = 0; places.size < binding.places; i += 1) {
    const name = names[i]?.replace(/^_+/, '') || `arg${i + 1}`
    places.add(places.has(name) ? `${name}${i + 1}` : name)
  }
  return [...places]
}

/** The URL for each number of positionals: `['/foo/bar', '/foo/bar/{che}']`. The rest is one place. */
export function buildPatterns(route: HandlerPlace & Positionals): readonly string[] {
  const base = basePath(route)
  const places = placeNames(route).map((name) => `{${name}}`)
  return [base, ...places.map((_, i) => `${base === '/' ? '' : base}/${places.slice(0, i + 1).join('/')}`)]
}

/** The URL for this number of positionals. */
export function patternOf({ patterns }: { readonly patterns: readonly string[] }, count: number): string {
  return patterns[Math.min(count, patterns.length - 1)] ?? ''
}
