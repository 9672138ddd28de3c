import { existsSync, readFileSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { z } from 'zod'
import { placesOf, shortestWay } from './import-graph.ts'
import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { type ImportedModule, importsOf } from './syntax.ts'

/** The pure files: globs by subject. */
const LIST = 'scripts/layout/pure-files.json'

/** Modules with access to the disk, the network, the database, other processes, the clock or the terminal. */
const OUTSIDE =
  /^(node:(fs|net|http|https|http2|tls|dgram|dns|child_process|worker_threads|cluster|process|os|readline|timers|perf_hooks)|@fastify|@opentelemetry|fastify|kysely|pg|pino|ioredis|nodemailer|undici)([/-]|$)/
/** Exports of node:crypto that depend only on their arguments. Pure code takes random values as arguments. */
const RANDOM = /^(random|generate|getRandom|webcrypto|subtle)/
const Globs = z.record(z.string(), z.array(z.string()))

/**
 * A rule about money, tokens, policies or matching decides by its arguments alone. Its file imports nothing that reaches
 * outside the process, directly or through the values that it imports. A type of such a module counts only in the file itself:
 * whoever takes a connection as an argument asks the database.
 */
export const pureFiles: Rule = (tree) => {
  const list = join(tree.root, LIST)
  if (!existsSync(list)) return []
  const globs = Object.values(Globs.parse(JSON.parse(readFileSync(list, 'utf8'))))
    .flat()
    .flatMap(alternatives)
  const files = new Map(productionFiles(tree, 'services', 'packages').map((file) => [file.path, file]))
  return globs.flatMap((glob): readonly Problem[] => {
    const paths = [...files.keys()].filter((path) => matchesGlob(path, glob))
    if (paths.length === 0) return [{ path: LIST, message: `lists ${glob}, which is not there` }]
    return paths.flatMap((path) => {
      const way = wayOutside(files, path)
      return way === undefined ? [] : [{ path, message: `is pure, but reaches ${way.join(' → ')}` }]
    })
  })
}

/** Splits a glob with `{a,b}`, so that each alternative has to name a file. */
function alternatives(glob: string): readonly string[] {
  const [, before = '', names = '', after = ''] = /^(.*)\{(.*)\}(.*)$/.exec(glob) ?? [glob, glob]
  return names.split(',').map((name) => before + name + after)
}

/** The files from a pure file to the module that reaches outside. */
function wayOutside(files: ReadonlyMap<string, SourceFile>, start: string): readonly string[] | undefined {
  const importsFrom = (path: string): readonly ImportedModule[] => {
    const file = files.get(path)
    return file === undefined ? [] : importsOf(file)
  }
  const outsideOf = (path: string): string | undefined => importsFrom(path).find(isOutside)?.specifier
  const own = outsideOf(start)
  if (own !== undefined) return [own]
  const way = shortestWay(
    start,
    (path) =>
      importsFrom(path)
        .filter(({ isType }) => !isType)
        .flatMap(({ specifier }) => placesOf(path, specifier)),
    (path) => outsideOf(path) !== undefined,
  )
  return way && [...way.slice(1), ...way.slice(-1).map((path) => outsideOf(path) ?? '')]
}

function isOutside({ specifier, names, isWhole }: ImportedModule): boolean {
  if (specifier === 'node:crypto') return isWhole || names.some((name) => RANDOM.test(name))
  return OUTSIDE.test(specifier)
}
