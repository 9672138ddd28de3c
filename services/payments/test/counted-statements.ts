import type { OperatorDeps } from '../src/deps.ts'

/** A command's dependencies that count database statements. */
export interface CountedStatements {
  readonly deps: OperatorDeps
  /** The number of sent statements. */
  readonly count: () => number
}

/** Counts the statements that a command sends through `db`. */
export function countStatements(deps: OperatorDeps): CountedStatements {
  let sent = 0
  const db = deps.db.withPlugin({
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      sent += 1
      return result
    },
  })
  return { deps: { ...deps, db }, count: () => sent }
}
