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

/** The URL with so many positionals: `/foo/bar/{che}`. However many the rest takes, it is one place. */
export function patternOf(route: Route, count: number): string {
  const places = placeNames(route).slice(0, count)
  const base = basePath(route)
  if (places.length === 0) return base
  return `${base === '/' ? '' : base}/${places.map((name) => `{${name}}`).join('/')}`
}
