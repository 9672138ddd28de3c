import { placesOf } from './import-graph.ts'
import { type Problem, productionFiles, type Rule, type SourceTree, serviceNames } from './source-tree.ts'
import { importsOf } from './syntax.ts'

/** Folders whose files are found by kind: the route of a URL, the provider of a sign-in. They are no nouns. */
const KINDS: readonly string[] = ['routes', 'controllers', 'use-cases', 'providers', 'gateways', 'config', 'commands']
const LISTED = /^- `([^`/]+)\/`: \S/

/**
 * The README of a service lists its nouns in the order of dependency: a noun imports only earlier nouns. So a reader can learn
 * them from top to bottom, and no two nouns need each other.
 */
export const nounOrder: Rule = (tree) => serviceNames(tree).flatMap((service) => problemsOfService(tree, service))

function problemsOfService(tree: SourceTree, service: string): readonly Problem[] {
  const path = `services/${service}/README.md`
  const listed = readNouns(tree.files.find((file) => file.path === path)?.text ?? '')
  if (listed === undefined) return [{ path, message: 'has no section "## Nouns" that lists the folders of src' }]
  const found = nounsOf(tree, service)
  const names = listed.map(({ name }) => name)
  return [
    ...listed
      .filter(({ name }, index) => names.indexOf(name) < index)
      .map(({ name, line }) => ({ path, line, message: `lists ${name}/ twice` })),
    ...listed
      .filter(({ name }) => !found.has(name))
      .map(({ name, line }) => ({ path, line, message: `lists ${name}/, which is no folder of a noun` })),
    ...[...found].filter((noun) => !names.includes(noun)).map((noun) => ({ path, message: `does not list ${noun}/` })),
    ...importsAgainstOrder(tree, service, names),
  ]
}

/** The lines of the section, such as "- `sessions/`: their life and their limits". */
function readNouns(readme: string): readonly { readonly name: string; readonly line: number }[] | undefined {
  const lines = readme.split('\n')
  const heading = lines.indexOf('## Nouns')
  if (heading < 0) return undefined
  const end = lines.findIndex((text, index) => index > heading && text.startsWith('## '))
  return lines.slice(0, end < 0 ? undefined : end).flatMap((text, index) => {
    const name = index > heading ? LISTED.exec(text)?.[1] : undefined
    return name === undefined ? [] : [{ name, line: index + 1 }]
  })
}

function nounsOf(tree: SourceTree, service: string): ReadonlySet<string> {
  const nouns = productionFiles(tree, `services/${service}/src`).flatMap(({ path }) => nounOf(path, service) ?? [])
  return new Set(nouns)
}

/** The noun that a file of the service belongs to. */
function nounOf(path: string, service: string): string | undefined {
  const [top, name, source, folder = '', ...below] = path.split('/')
  if (top !== 'services' || name !== service || source !== 'src' || below.length === 0) return undefined
  return folder === 'plugins' || isOfKind(`services/${service}/src/${folder}`) ? undefined : folder
}

function importsAgainstOrder(tree: SourceTree, service: string, names: readonly string[]): readonly Problem[] {
  return productionFiles(tree, `services/${service}/src`).flatMap((file) => {
    const own = nounOf(file.path, service)
    if (own === undefined || !names.includes(own)) return []
    return importsOf(file).flatMap(({ specifier, line }): Problem[] => {
      const nouns = placesOf(file.path, specifier).map((place) => nounOf(place, service))
      const later = nouns.find((noun) => noun !== undefined && names.indexOf(noun) > names.indexOf(own))
      if (later === undefined) return []
      const message = `${own}/ imports ${later}/, which stands after it in the README's list of nouns`
      return [{ path: file.path, line, message }]
    })
  })
}

/** Whether a file or folder below `src` is in a folder of a kind, or is one. */
function isOfKind(path: string): boolean {
  const [, inside = ''] = /\/src\/(.*)$/.exec(path) ?? []
  return inside.split('/').some((part) => KINDS.includes(part))
}
