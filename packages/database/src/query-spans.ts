/** Makes the spans of queries. A span carries the name of its query, never its values. */
export interface QuerySpans {
  /** Runs a query inside a span; without one outside a traced request. */
  within<T>(name: string, run: () => Promise<T>): Promise<T>
  /** Records a query that has ended, begun `durationMs` ago. */
  record(name: string, durationMs: number, failed: boolean): void
}

/** What makes them where requests are traced. Elsewhere nothing is loaded: the library has 50 files. */
export async function loadQuerySpans(isTraced: boolean): Promise<QuerySpans | undefined> {
  return isTraced ? (await import('./spans.ts')).querySpans : undefined
}
