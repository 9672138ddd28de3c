import { existsSync, readFileSync } from 'node:fs'
import { join, matchesGlob } from 'node:path'
import { z } from 'zod'
import { placesOf, shortestWay } from './import-graph.ts'
import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'
import { type ImportedModule, importsOf } from './syntax.ts'

/** Where the pure files stand: globs by the subject that they decide on. */
const LIST = 'scripts/layout/pure-files.json'

/** Modules that reach the disk, the network, the database, other processes, the clock or the terminal. */
const OUTSIDE =
  /^(node:(fs|net|http|https|http2|tls|dgram|dns|child_process|worker_threads|cluster|process|os|readline|timers|perf_hooks)|@fastify|@opentelemetry|fastify|kysely|pg|pino|ioredis|nodemailer|undici)([/-]|$)/
/** Hashes and comparisons of node:crypto depend only on their arguments. Random values are arguments of pure code. */
const RANDOM = /^(random|generate|getRandom|webcrypto|subtle)/
const Globs = z.record(z.string(), z.array(z.string()))

/**
 * A rule about money, tokens, policies or matching decides by its arguments alone: its file reaches nothing outside the
 * process, neither itself nor through the values that it imports. Naming a type of such a module counts where the file
 * does it itself, since whoever takes a connection asks the database.
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

/** The globs that `{a,b}` stands for, so that each of them has to name a file. */
function alternatives(glob: string): readonly string[] {
  const [, before = '', names = '', after = ''] = /^(.*)\{(.*)\}(.*)$/.exec(glob) ?? [glob, glob]
  return names.split(',').map((name) => before + name + after)
}

/** The files from one to the module outside that the last of them imports. */
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
