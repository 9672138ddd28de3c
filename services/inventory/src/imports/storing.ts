/**
 * How an import stores its records. `batches`: each batch when it has arrived. `all-or-nothing`: atomic.
 * `nothing`: a dry run.
 */
export type Storing = 'batches' | 'all-or-nothing' | 'nothing'

/** The options by which a client chooses, in the query of the endpoint and as flags of the command. */
interface StoringOptions {
  readonly atomic?: boolean | undefined
  readonly dryRun?: boolean | undefined
}

/** How to store what a client imports (reference: Import). A dry run stores nothing, atomic or not. */
export function storingOf({ atomic, dryRun }: StoringOptions): Storing {
  if (dryRun) return 'nothing'
  return atomic ? 'all-or-nothing' : 'batches'
}
