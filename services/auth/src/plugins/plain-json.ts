import type { FastifySerializerCompiler } from 'fastify'

/**
 * For routes whose views are made here and nowhere else: their response schemas are for the API document alone, and the
 * body is written as it is. Members that are undefined are left out.
 */
export const plainJson: FastifySerializerCompiler<unknown> = () => (data) => JSON.stringify(data)
