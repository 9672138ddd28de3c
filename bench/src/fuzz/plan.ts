/** By whom a request says it is sent. */
export type Credential = 'own' | 'privileged' | 'none' | { readonly header: string }

/** The body of a planned request. */
export interface PlannedBody {
  /** Undefined: no Content-Type. */
  readonly type: string | undefined
  readonly value: unknown
  /** What becomes of the bytes after all. */
  readonly spoil: (bytes: Buffer) => Buffer
}

/** A request before ids and tokens are known: the same for the same seed. */
export interface Plan {
  readonly method: string
  /** Of the document, with parameters in braces. */
  readonly path: string
  readonly params: Readonly<Record<string, unknown>>
  /** What stands behind the path. */
  readonly ending: string
  readonly query: readonly (readonly [name: unknown, value: unknown])[]
  readonly headers: readonly (readonly [name: string, value: unknown])[]
  readonly body: PlannedBody | undefined
  readonly credential: Credential
  readonly actor: number
}
