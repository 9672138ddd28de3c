// The entry point of the published package. It exports everything that authors of controllers may import.
export { RawJson } from './answers/raw-json.ts'
export type { ResponseState } from './answers/response-state.ts'
export { Application } from './application.ts'
export { type AcceptsSpec, type Args, accepts } from './binding/accepts.ts'
export { p } from './binding/parameters.ts'
export type { FormPart, MultipartLimits } from './body/multipart.ts'
export type { Log } from './config/log.ts'
export type { ApplicationOptions, ModuleMap } from './config/options.ts'
export { Controller } from './controller.ts'
export {
  AccessDenied,
  type AccessDeniedOptions,
  CallError,
  type CallErrorOptions,
  CallStop,
  Conflict,
  Forbidden,
  type Issue,
  MethodNotAllowed,
  NotFound,
  NotImplemented,
  Redirect,
  TooManyRequests,
  ValidationError,
} from './errors.ts'
export type { ApplicationEvents } from './events.ts'
export { authBasic, authBearer, requireScopes } from './guards/auth.ts'
export type { CorsOptions } from './guards/cors.ts'
export { type Guard, type GuardContext, type GuardSecurity, httpCache, noHttpCache } from './guards/guard.ts'
export { memoryStore, type RateLimitOptions, type RateLimitStore, rateLimit } from './guards/rate-limit.ts'
export { fastifyOptions } from './interfaces/fastify.ts'
export type { InjectedRequest } from './interfaces/inject.ts'
export { docsController } from './openapi/docs-controller.ts'
export type { OpenApiDocument } from './openapi/document-types.ts'
export type { ControllerApplication } from './request/controller-application.ts'
export type { EndpointRequest } from './request/endpoint-request.ts'
export type { RouteInfo } from './request/route-info.ts'
export type { ListedRoute, ResolvedPath } from './routing/listed-route.ts'
