import { posix } from 'node:path'
import { placesOf } from './import-graph.ts'
import {
  isTest,
  type Problem,
  productionFiles,
  type Rule,
  type SourceFile,
  type SourceTree,
  serviceNames,
} from './source-tree.ts'
import { type ImportedModule, importsOf } from './syntax.ts'

/** Folders of a service that may import its modules, but not vice versa. */
const upperFolders = new Set(['commands', 'routes', 'controllers', 'plugins', 'use-cases'])
const http = /^(fastify($|\/|-)|@fastify\/)/
const database = /^(kysely|pg)($|\/)/
const ours = /^@trestle\//

/**
 * Imports go in one direction: main → commands → app → routes and plugins → use-cases → repositories → database. A service never
 * imports another service, not even in a test. A package never imports a service. `packages/common` imports no other package. A
 * migration imports only Kysely. No relative import leaves its workspace package. A module defines the type of its own
 * dependencies, because the type of `deps.ts` would tie it to all other modules.
 */
export const arrows: Rule = (tree) => {
  const services = new Set(serviceNames(tree))
  const serviceOf = (specifier: string): string | undefined => {
    const name = /^@trestle\/([^/]+)/.exec(specifier)?.[1]
    return name !== undefined && services.has(name) ? name : undefined
  }
  return [
    ...eachImport(productionFiles(tree, 'services'), (file, imported) => {
      const [, own = ''] = file.path.split('/')
      const other = serviceOf(imported.specifier)
      if (other !== undefined && other !== own) return `a service never imports another service (${other})`
      return refusalInService(file, imported)
    }),
    ...eachImport(tree.files.filter(isTestOfService), ({ path }, { specifier }) => {
      const other = serviceOf(specifier) ?? folderOfService(path, specifier)
      return other !== undefined && other !== path.split('/')[1]
        ? `a test never imports another service (${other})`
        : undefined
    }),
    ...eachImport(tree.files.filter(isOfPackage), (_file, imported) => {
      const service = serviceOf(imported.specifier)
      return service === undefined ? undefined : `a package never imports a service (${service})`
    }),
    ...eachImport(productionFiles(tree, 'packages/common'), (_file, { specifier }) =>
      ours.test(specifier) || database.test(specifier)
        ? `packages/common imports neither a database nor another package of ours (${specifier})`
        : undefined,
    ),
    ...eachImport(productionFiles(tree, 'packages/service'), (_file, { specifier }) =>
      http.test(specifier) ? `packages/service knows no route (${specifier})` : undefined,
    ),
    ...eachImport(productionFiles(tree, 'migrations').filter(isOfOneService), (_file, { specifier }) =>
      /^(kysely$|kysely\/|\.)/.test(specifier) ? undefined : `a migration imports Kysely alone (${specifier})`,
    ),
    ...eachImport(productionFiles(tree, 'services', 'packages', 'migrations', 'bench'), leavesPackage),
  ]
}

function eachImport(
  files: readonly SourceFile[],
  refuse: (file: SourceFile, imported: ImportedModule) => string | undefined,
): readonly Problem[] {
  return files.flatMap((file) =>
    importsOf(file).flatMap((imported): Problem[] => {
      const message = refuse(file, imported)
      return message === undefined ? [] : [{ path: file.path, line: imported.line, message }]
    }),
  )
}

/** Checks an import within a service, depending on the folder of the importing file. */
function refusalInService(file: SourceFile, { specifier }: ImportedModule): string | undefined {
  const [, service, , folder, ...below] = file.path.split('/')
  if (folder === undefined || below.length === 0) return undefined
  const isOwn = specifier.startsWith('.') || specifier.startsWith(`@trestle/${service}/`)
  const [target] = isOwn ? placesOf(file.path, specifier) : []
  const targetFolder = target?.split('/')[3] ?? ''
  if (targetFolder === 'main.ts') return 'nothing imports main.ts'
  // These files build the app for `main.ts`, so each may import it.
  if (folder === 'commands') return undefined
  if (targetFolder === 'app.ts') return 'nothing below imports app.ts'
  if (folder === 'routes' || folder === 'controllers') {
    return database.test(specifier) ? `a route knows no SQL (${specifier})` : undefined
  }
  if (folder === 'plugins') return targetFolder === 'routes' ? 'a plugin never imports routes' : undefined
  if (http.test(specifier)) return `only routes and plugins know HTTP (${specifier})`
  if (folder === 'use-cases') {
    const upward = targetFolder !== 'use-cases' && upperFolders.has(targetFolder)
    return upward ? `a use case never imports ${targetFolder}` : undefined
  }
  if (targetFolder === 'deps.ts') return 'a module never imports deps.ts: say what it needs'
  return upperFolders.has(targetFolder) ? `a folder of a module never imports ${targetFolder}` : undefined
}

/** A test next to its file, or a file in `services/…/test/`. */
function isTestOfService({ path }: SourceFile): boolean {
  return path.startsWith('services/') && path.endsWith('.ts') && isTest(path)
}

/** The service to whose folder a relative import leads. `undefined` outside services. */
function folderOfService(path: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined
  return /^services\/([^/]+)\//.exec(posix.join(posix.dirname(path), specifier))?.[1]
}

/** Includes tests: a package whose tests need a service is not independent. */
function isOfPackage({ path }: SourceFile): boolean {
  return path.startsWith('packages/') && path.endsWith('.ts')
}

/** A file such as `migrations/auth/0001-create-users.ts`, but not files that read or list such files. */
function isOfOneService({ path }: SourceFile): boolean {
  return path.split('/').length > 2
}

function leavesPackage(file: SourceFile, { specifier }: ImportedModule): string | undefined {
  if (!specifier.startsWith('.')) return undefined
  const depth = /^(services|packages)\//.test(file.path) ? 2 : 1
  const own = file.path.split('/').slice(0, depth).join('/')
  const target = posix.join(posix.dirname(file.path), specifier)
  return target.startsWith(`${own}/`) ? undefined : `a relative import never leaves its package (${specifier})`
}

/** Folders whose files are found by kind, such as the route of a URL. They are not modules. */
const KINDS: readonly string[] = ['routes', 'controllers', 'use-cases', 'providers', 'gateways', 'config', 'commands']
const LISTED = /^- `([^`/]+)\/`: \S/

/**
 * The README of a service lists its modules in the order of dependency: a module imports only earlier modules. So readers can
 * learn them from top to bottom, and no two modules depend on each other.
 */
export const moduleOrder: Rule = (tree) => serviceNames(tree).flatMap((service) => problemsOfService(tree, service))

function problemsOfService(tree: SourceTree, service: string): readonly Problem[] {
  const path = `services/${service}/README.md`
  const listed = readModules(tree.files.find((file) => file.path === path)?.text ?? '')
  if (listed === undefined) return [{ path, message: 'has no section "## Modules" that lists the folders of src' }]
  const found = modulesOf(tree, service)
  const names = listed.map(({ name }) => name)
  return [
    ...listed
      .filter(({ name }, index) => names.indexOf(name) < index)
      .map(({ name, line }) => ({ path, line, message: `lists ${name}/ twice` })),
    ...listed
      .filter(({ name }) => !found.has(name))
      .map(({ name, line }) => ({ path, line, message: `lists ${name}/, which is no folder of a module` })),
    ...[...found]
      .filter((module) => !names.includes(module))
      .map((module) => ({ path, message: `does not list ${module}/` })),
    ...importsAgainstOrder(tree, service, names),
  ]
}

/** The lines of the section, such as "- `sessions/`: their life and their limits". */
function readModules(readme: string): readonly { readonly name: string; readonly line: number }[] | undefined {
  const lines = readme.split('\n')
  const heading = lines.indexOf('## Modules')
  if (heading < 0) return undefined
  const end = lines.findIndex((text, index) => index > heading && text.startsWith('## '))
  return lines.slice(0, end < 0 ? undefined : end).flatMap((text, index) => {
    const name = index > heading ? LISTED.exec(text)?.[1] : undefined
    return name === undefined ? [] : [{ name, line: index + 1 }]
  })
}

function modulesOf(tree: SourceTree, service: string): ReadonlySet<string> {
  const modules = productionFiles(tree, `services/${service}/src`).flatMap(({ path }) => moduleOf(path, service) ?? [])
  return new Set(modules)
}

/** The module of a file in the service. */
function moduleOf(path: string, service: string): string | undefined {
  const [top, name, source, folder = '', ...below] = path.split('/')
  if (top !== 'services' || name !== service || source !== 'src' || below.length === 0) return undefined
  return folder === 'plugins' || isOfKind(`services/${service}/src/${folder}`) ? undefined : folder
}

function importsAgainstOrder(tree: SourceTree, service: string, names: readonly string[]): readonly Problem[] {
  return productionFiles(tree, `services/${service}/src`).flatMap((file) => {
    const own = moduleOf(file.path, service)
    if (own === undefined || !names.includes(own)) return []
    return importsOf(file).flatMap(({ specifier, line }): Problem[] => {
      const modules = placesOf(file.path, specifier).map((place) => moduleOf(place, service))
      const later = modules.find((module) => module !== undefined && names.indexOf(module) > names.indexOf(own))
      if (later === undefined) return []
      const message = `${own}/ imports ${later}/, which stands after it in the README's list of modules`
      return [{ path: file.path, line, message }]
    })
  })
}

/** Whether a file or folder below `src` is a folder of a kind or is inside one. */
function isOfKind(path: string): boolean {
  const [, inside = ''] = /\/src\/(.*)$/.exec(path) ?? []
  return inside.split('/').some((part) => KINDS.includes(part))
}

const core = 'packages/endpoints/src'
const programs = /^packages\/endpoints\/src\/(main\.ts$|cli\/)/
const allowed = /^(\.|zod$|acorn$|leven$|multipasta$)/

/**
 * The framework runs without Node.js. So only its program may import Node.js or Fastify, except types. All other files import
 * only packages that an installation has.
 */
export const portableCore: Rule = (tree) =>
  productionFiles(tree, core)
    .filter(({ path }) => !programs.test(path))
    .flatMap((file) =>
      importsOf(file)
        .filter(({ specifier, isType }) => !isType && specifier !== '' && !allowed.test(specifier))
        .map(
          ({ specifier, line }): Problem => ({
            path: file.path,
            line,
            message: `the core of the framework imports zod, acorn, leven and multipasta alone (${specifier})`,
          }),
        ),
    )
