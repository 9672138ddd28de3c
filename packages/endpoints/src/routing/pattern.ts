import type { Route } from './table.ts'

/** The fixed part of a URL: `/foo/bar/stats`. */
export function basePath({ modulePath, classPath }: Pick<Route, 'modulePath' | 'classPath'>): string {
  return `/${[...modulePath, ...classPath].join('/')}`
}

/**
 * Names of the places for positionals, in order; the last is that of the rest where any number is taken. The `_` of a
 * parameter that is not used is no part of its name.
 */
export function placeNames({ names, binding }: Pick<Route, 'names' | 'binding'>): readonly string[] {
  const places = new Set<string>()
  for (let i = 0; places.size < binding.places; i += 1) {
    const name = names[i]?.replace(/^_+/, '') || `arg${i + 1}`
    places.add(places.has(name) ? `${name}${i + 1}` : name)
  }
  return [...places]
}

/** The URL by the number of positionals: `['/foo/bar', '/foo/bar/{che}']`. However many the rest takes, it is one place. */
export function buildPatterns(route: Pick<Route, 'modulePath' | 'classPath' | 'names' | 'binding'>): readonly string[] {
  const base = basePath(route)
  const places = placeNames(route).map((name) => `{${name}}`)
  return [base, ...places.map((_, i) => `${base === '/' ? '' : base}/${places.slice(0, i + 1).join('/')}`)]
}

/** The URL with so many positionals. */
export function patternOf({ patterns }: Pick<Route, 'patterns'>, count: number): string {
  return patterns[Math.min(count, patterns.length - 1)] ?? ''
}
