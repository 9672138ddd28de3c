import { type Problem, productionFiles, type Rule, type SourceFile } from './source-tree.ts'

const USE_CASE = /^services\/[^/]+\/src\/use-cases\/(?:.*\/)?([^/]+)\.ts$/
const EXPORTED_FUNCTION = /^(?:\/\*\*.*\*\/ )?export (?:(?:async )?function\*? |const (?=\w+ = (?:async )?\())(\w+)/gm
/** What use cases export beside their act, and why. */
const EXPORTED_BESIDE: ReadonlyMap<string, { readonly names: readonly string[]; readonly reason: string }> = new Map([
  [
    'services/auth/src/use-cases/sign-up.ts',
    { names: ['checkSignUp'], reason: 'its test compares what each field does' },
  ],
  [
    'services/auth/src/use-cases/verify-message.ts',
    { names: ['verifyCode'], reason: 'its test compares every outcome' },
  ],
  [
    'services/inventory/src/use-cases/clean-up.ts',
    { names: ['createCleanUp'], reason: 'a timer takes the place of a queue' },
  ],
  ['services/payments/src/use-cases/create-app.ts', { names: ['registerApp'], reason: 'both make an app with a key' }],
  [
    'services/payments/src/use-cases/create-transaction.ts',
    { names: ['chargeCard'], reason: 'the same act, for a caller that needs the failed transaction of a refused card' },
  ],
  [
    'services/payments/src/use-cases/run-payouts.ts',
    { names: ['payEveryone'], reason: 'the queue and an operator pay out' },
  ],
  [
    'services/payments/src/use-cases/seed.ts',
    { names: ['sealSeed'], reason: 'events are triggered with the same rows' },
  ],
])

/**
 * A use case is found by its name: `use-cases/pay-out.ts` exports `payOut`, and no second act. Where only the queue calls the act,
 * its file exports the function that takes its jobs, `start…`, and the act may be private. What may be asked for is no act: a file
 * may export a question beside it, `is…`.
 */
export const useCaseNames: Rule = (tree) => productionFiles(tree, 'services').flatMap(problemsOf)

function problemsOf({ path, text }: SourceFile): readonly Problem[] {
  const name = USE_CASE.exec(path)?.[1]?.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
  if (name === undefined) return []
  const takesJobs = /\bjobs\.work\(/.test(text) && /^export (?:async )?function start[A-Z]/m.test(text)
  const exported = takesJobs ? '(?:export )?' : 'export '
  const act = new RegExp(String.raw`^(?:/\*\*.*\*/ )?${exported}(?:(?:async )?function\*? |const )${name}\b`, 'm')
  if (!act.test(text)) {
    return [{ path, message: `exports no ${name}: name the file after its act, or split it by its acts` }]
  }
  const known = EXPORTED_BESIDE.get(path)?.names ?? []
  return [...text.matchAll(EXPORTED_FUNCTION)]
    .map(([, other = '']) => other)
    .filter((other) => other !== name && !known.includes(other) && !/^is[A-Z]/.test(other))
    .filter((other) => !(takesJobs && /^start[A-Z]/.test(other)))
    .map((other) => ({ path, message: `exports ${other} beside ${name}: give each act its own file` }))
}
