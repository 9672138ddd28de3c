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
  /** Spells a part of a path as the table does; undefined where only that spelling is taken. */
  readonly canonicalPart: ((part: string) => string) | undefined
  readonly allowEncodedSlash: boolean
  readonly signatures: boolean
  /** Largest body in bytes. */
  readonly bodyLimit: number
  readonly multipart: MultipartLimits
  /** Milliseconds; 0 for none. */
  readonly writeTimeout: number
  readonly use: readonly Guard[]
  readonly cors: CorsPolicy | undefined
  /** How many proxies stand before the server, and may say who the client is. */
  readonly trustedProxies: number
  /** Lower-case. */
  readonly requestIdHeader: string
  readonly exposeErrors: boolean
  /** What is returned is compared with its declaration, and a 404 tells what is near. */
  readonly development: boolean
  readonly json: JsonCodec
  /** Of what `errorBody` makes, for the OpenAPI document. */
  readonly errorSchema: ZodType | undefined
  readonly onError: ((error: unknown, request: EndpointRequest) => unknown) | undefined
  readonly onFault: ((error: unknown, request: EndpointRequest) => void) | undefined
  readonly errorBody: ((error: CallError, request: EndpointRequest) => unknown) | undefined
}
