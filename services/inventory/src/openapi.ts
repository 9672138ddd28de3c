import { Application, type OpenApiDocument } from '@trestle/endpoints/endpoints.ts'
import { ErrorView } from './error-body.ts'
import { VERSION } from './version.ts'

/** The folder of the controllers, and what else the OpenAPI document depends on. */
export const endpointOptions = {
  controllerPrefix: new URL('controllers/', import.meta.url),
  errorSchema: ErrorView,
  info: {
    title: 'Trestle inventory',
    version: VERSION,
    description: 'Products with free-form attributes, their stock at locations, and users.',
  },
  signatures: false,
  strict: true,
} as const

/** The OpenAPI document of the service. It is made from the controllers alone, without a database. */
export async function buildOpenApi(): Promise<OpenApiDocument> {
  const endpoints = await new Application(endpointOptions).ready()
  return endpoints.openapi()
}
