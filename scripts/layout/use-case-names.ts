import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'

const USE_CASE = /^services\/[^/]+\/src\/use-cases\/(?:.*\/)?([^/]+)\.ts$/
const EXPORTED_INPUT = /^(?:\/\*\*.*\*\/ )?export (?:interface|type) (\w+(?:Input|Request))\b/gm
const EXPORTED_FUNCTION = /^(?:\/\*\*.*\*\/ )?export (?:(?:async )?function\*? |const (?=\w+ = (?:async )?\())(\w+)/gm
/** Names by the path of a use case, and why it exports them. */
type ExportedBeside = ReadonlyMap<string, { readonly names: readonly string[]; readonly reason: string }>

/** The exports of use cases beside their act. */
const EXPORTED_BESIDE: ExportedBeside = new Map([
  [
    'services/inventory/src/use-cases/clean-up.ts',
    { names: ['startCleanUp'], reason: 'a timer takes the place of a queue' },
  ],
  [
    'services/payments/src/use-cases/create-transaction.ts',
    { names: ['chargeCard'], reason: 'the same act, for a caller that needs the failed transaction of a refused card' },
  ],
  [
    'services/payments/src/use-cases/seed.ts',
    { names: ['sealSeed'], reason: 'events are triggered with the same rows' },
  ],
])

/**
 * A use case is found by its name: `use-cases/pay-out.ts` exports `payOut`, and no second act. Where only the
 * queue calls the act, its file exports the function that takes its jobs, `start…`, and the act may be
 * private. What may be asked for is no act: a file may export a question beside it, `is…`. What the act takes
 * has its name too: `input: PayOutInput`.
 */
export const useCaseNames: Rule = useCaseNamesBut(EXPORTED_BESIDE)

/**
 * The rule with a list of its own. It refuses an entry of the list whose file is gone, or does not export the name, in a service
 * of the tree.
 */
export function useCaseNamesBut(exportedBeside: ExportedBeside): Rule {
  return (tree) => {
    const files = productionFiles(tree, 'services')
    return [
      ...files.flatMap((file) => problemsOf(file, exportedBeside.get(file.path)?.names ?? [])),
      ...[...exportedBeside]
        .filter(([path]) => files.some((file) => serviceOf(file.path) === serviceOf(path)))
        .flatMap(([path, { names }]) => staleNames(path, names, files)),
    ]
  }
}

function serviceOf(path: string): string | undefined {
  return path.split('/')[1]
}

function staleNames(path: string, names: readonly string[], files: readonly SourceFile[]): readonly Problem[] {
  const text = files.find((file) => file.path === path)?.text ?? ''
  const exported = [...text.matchAll(EXPORTED_FUNCTION)].map(([, name = '']) => name)
  return names
    .filter((name) => !exported.includes(name))
    .map((name) => ({ path, message: `exports no ${name}: take it from the list of use-case-names.ts` }))
}

function problemsOf({ path, text }: SourceFile, known: readonly string[]): readonly Problem[] {
  const name = USE_CASE.exec(path)?.[1]?.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
  if (name === undefined) return []
  return [...actProblems({ path, text }, name, known), ...inputProblems({ path, text }, name)]
}

/** A request is what a route reads. What it gives to a use case is the input of the act, in each service. */
function inputProblems({ path, text }: SourceFile, name: string): readonly Problem[] {
  const input = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
  const named = new RegExp(String.raw`\b(\w+)\??: ${input}\b`, 'g')
  return [
    ...[...text.matchAll(EXPORTED_INPUT)]
      .filter(([, type]) => type !== input)
      .map(([, type]) => ({ path, message: `exports ${type}: what the act takes is ${input}` })),
    ...[...text.matchAll(named)]
      .filter(([, variable]) => variable !== 'input')
      .map(([, variable]) => ({ path, message: `calls a ${input} ${variable}: call it input` })),
  ]
}

function actProblems({ path, text }: SourceFile, name: string, known: readonly string[]): readonly Problem[] {
  const takesJobs = /\bjobs\.work\(/.test(text) && /^export (?:async )?function start[A-Z]/m.test(text)
  const exported = takesJobs ? '(?:export )?' : 'export '
  const act = new RegExp(String.raw`^(?:/\*\*.*\*/ )?${exported}(?:(?:async )?function\*? |const )${name}\b`, 'm')
  if (!act.test(text)) {
    return [{ path, message: `exports no ${name}: name the file after its act, or split it by its acts` }]
  }
  return [...text.matchAll(EXPORTED_FUNCTION)]
    .map(([, other = '']) => other)
    .filter((other) => other !== name && !known.includes(other) && !/^is[A-Z]/.test(other))
    .filter((other) => !(takesJobs && /^start[A-Z]/.test(other)))
    .map((other) => ({ path, message: `exports ${other} beside ${name}: give each act its own file` }))
}
