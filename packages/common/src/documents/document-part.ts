/** A part of an OpenAPI document that may be changed. */
export type DocumentPart = Record<string, unknown>

/** An operation of a document: what notes are chosen by. */
export interface DocumentedOperation {
  /** In upper case. */
  readonly method: string
  /** With parameters in braces: `/merchants/{merchantId}`. */
  readonly path: string
  readonly operationId: string
  readonly tags: readonly string[]
}

/** An operation of a document, and where it stands. */
export interface OperationPart {
  readonly operation: DocumentedOperation
  /** The operation itself, which the caller may change. */
  readonly part: DocumentPart
}

const METHODS: ReadonlySet<string> = new Set(['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace'])

/** The operations of a document, in its order. */
export function listOperations(document: object): readonly OperationPart[] {
  return Object.entries(asPart(Reflect.get(document, 'paths'))).flatMap(([path, item]) =>
    Object.entries(asPart(item))
      .filter(([method]) => METHODS.has(method))
      .map(([method, value]) => {
        const part = asPart(value)
        const { operationId, tags } = part
        const names = Array.isArray(tags) ? tags.map(String) : []
        return {
          operation: { method: method.toUpperCase(), path, operationId: String(operationId ?? ''), tags: names },
          part,
        }
      }),
  )
}

/** A value as an object that may be changed; an empty one for anything else. */
export function asPart(value: unknown): DocumentPart {
  return isPart(value) ? value : {}
}

/** Whether a value is an object, and no list. */
export function isPart(value: unknown): value is DocumentPart {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A value as a list; an empty one for anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
