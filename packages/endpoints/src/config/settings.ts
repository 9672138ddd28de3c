import type { ZodType } from 'zod'
import type { JsonCodec } from '../body/json.ts'
import type { MultipartLimits } from '../body/multipart.ts'
import type { CallError } from '../errors.ts'
import type { CorsPolicy } from '../guards/cors.ts'
import type { Guard } from '../guards/guard.ts'
import type { EndpointRequest } from '../request/endpoint-request.ts'

/** The options of an application, checked and completed. */
export interface Settings {
  readonly strict: boolean
  /** Turns a part of a path into its URL name; undefined when only URL names are accepted. */
  readonly canonicalPart: ((part: string) => string) | undefined
  readonly allowEncodedSlash: boolean
  readonly signatures: boolean
  readonly bodyBytesMax: number
  readonly multipart: MultipartLimits
  /** Whether an empty value of a query or form counts as absent. */
  readonly emptyAsAbsent: boolean
  /** How long a client may take no byte of an answer; 0 for no limit. */
  readonly writeTimeoutMs: number
  readonly use: readonly Guard[]
  readonly cors: CorsPolicy | undefined
  /** How many trusted proxies stand in front of the server. */
  readonly trustedProxies: number
  /** Lower-case. */
  readonly requestIdHeader: string
  readonly exposeErrors: boolean
  /** In development, values are compared with `returns`, and a 404 names a similar URL. */
  readonly development: boolean
  readonly json: JsonCodec
  /** The schema of the bodies of `errorBody`, for the OpenAPI document. */
  readonly errorSchema: ZodType | undefined
  readonly onError: ((error: unknown, request: EndpointRequest) => unknown) | undefined
  readonly onFault: ((error: unknown, request: EndpointRequest) => void) | undefined
  readonly errorBody: ((error: CallError, request: EndpointRequest) => unknown) | undefined
}
