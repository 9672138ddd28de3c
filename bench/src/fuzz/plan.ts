/**
 * The owner of the credentials that a request carries. An operator has the role admin. A viewer is an operator who may only look.
 */
export type Credential = KnownCredential | 'none' | { readonly header: string }

/** A credential that the service accepts. */
export type KnownCredential = 'own' | 'privileged' | 'operator' | 'viewer'

/** The body of a planned request. */
export interface PlannedBody {
  /** Undefined: no Content-Type. */
  readonly type: string | undefined
  readonly value: unknown
  /** Changes the bytes of the body. */
  readonly spoil: (bytes: Buffer) => Buffer
}

/** A request before ids and tokens are known. Equal seeds give equal requests. */
export interface Plan {
  readonly method: string
  /** The path of the document, with parameters in braces. */
  readonly path: string
  readonly params: Readonly<Record<string, unknown>>
  /** The text after the path. */
  readonly ending: string
  readonly query: readonly (readonly [name: unknown, value: unknown])[]
  readonly headers: readonly (readonly [name: string, value: unknown])[]
  readonly body: PlannedBody | undefined
  readonly credential: Credential
  readonly actor: number
}
