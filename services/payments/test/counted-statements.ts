import type { OperatorDeps } from '../src/deps.ts'

/** The dependencies of a command, whose statements to the database are counted. */
export interface CountedStatements {
  readonly deps: OperatorDeps
  /** How many statements have been sent. */
  readonly count: () => number
}

/** Counts the statements that a command sends by `db`. */
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
