import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { documentOf, SERVICES } from './languages.ts'

const Document = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        operationId: z.string(),
        parameters: z.array(z.object({ required: z.boolean().default(false) })).default([]),
        requestBody: z
          .object({ required: z.boolean().default(false), content: z.record(z.string(), z.unknown()) })
          .default({ required: false, content: {} }),
      }),
    ),
  ),
})

// See findings/openapi-python-client-two-bodies.sh.
it.each(SERVICES)('%s: an operation with a body of several media types has something optional', (service) => {
  const { paths } = Document.parse(JSON.parse(readFileSync(documentOf(service), 'utf8')))
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  const bodies = operations.filter(({ requestBody }) => Object.keys(requestBody.content).length > 1)
  expect(bodies).not.toHaveLength(0)
  const strict = bodies.filter(
    ({ parameters, requestBody }) => requestBody.required && parameters.every(({ required }) => required),
  )
  expect(strict.map(({ operationId }) => operationId)).toEqual([])
})
