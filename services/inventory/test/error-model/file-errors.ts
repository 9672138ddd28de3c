import { expect } from 'vitest'
import * as errors from '../../src/errors.ts'
import { rawRequest, sendRaw } from '../raw-request.ts'
import { brokenOff, type ErrorCase, type ErrorCases, send, unique } from './error-case.ts'

const file = (
  payload: string | Buffer,
  rest: {
    readonly query?: string
    readonly expected?: ErrorCase['expected']
    readonly settings?: Readonly<Record<string, string>>
  } = {},
): ErrorCase => ({
  operation: 'post /products/import',
  ...(rest.expected === undefined ? {} : { expected: rest.expected }),
  raise: async (world) =>
    send(await world.service(rest.settings), {
      method: 'POST',
      url: `/products/import${rest.query ?? ''}`,
      headers: { 'content-type': 'text/csv' },
      payload,
    }),
})

const RECORD_LENGTH_MAX = 1_048_576
const taken = unique()

export const fileErrors: ErrorCases = {
  fileNotUtf8: [file(Buffer.from([0x73, 0xff]), { expected: errors.fileNotUtf8(brokenOff(1)) })],
  headerMissing: [file('', { expected: errors.headerMissing(brokenOff(1)) })],
  headerBroken: [file('sku"x"\n', { expected: errors.headerBroken(brokenOff(1)) })],
  skuColumnMissing: [file('attributes\n', { expected: errors.skuColumnMissing(brokenOff(1)) })],
  attributesColumnMissing: [file('sku\n', { expected: errors.attributesColumnMissing(brokenOff(1)) })],
  columnTwice: [
    file('sku,sku,attributes\n', { expected: errors.columnTwice({ column: 'sku' }, brokenOff(1)) }),
    file('sku,attributes.a,attributes.a.b\n', { expected: errors.columnTwice({ column: 'a' }, brokenOff(1)) }),
  ],
  columnsUnknown: [
    file('sku,colour,quantity\n', {
      expected: errors.columnsUnknown(
        {
          unknown: [
            { column: 'colour', suggestion: 'attributes.colour', stock: false },
            { column: 'quantity', suggestion: undefined, stock: true },
          ],
        },
        brokenOff(1),
      ),
    }),
  ],
  fileTooLarge: [
    {
      operation: 'post /products/import',
      expected: errors.fileTooLarge({ bytesMax: 20 }, brokenOff(3, 1)),
      raise: async (world) => {
        // A file without Content-Length, whose size shows only at the end.
        const port = await world.listen(await world.service({ INVENTORY_IMPORT_MAX_BYTES: '20' }))
        const headers = ['Content-Type: text/csv', 'Transfer-Encoding: chunked']
        const body = 'sku,attributes\nA,{}\nB,{}\n'
        const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
        return sendRaw(port, rawRequest('POST /products/import', headers, chunks))
      },
    },
  ],
  tooManyColumns: [
    file(`sku,${Array.from({ length: 100 }, (_, at) => `attributes.a${at}`).join(',')}\n`, {
      expected: errors.tooManyColumns({ columnsMax: 100 }, brokenOff(1)),
    }),
  ],
  recordTooLong: [
    file(`sku,attributes\n"${'x'.repeat(RECORD_LENGTH_MAX + 1)}"\n`, {
      expected: errors.recordTooLong(
        { line: 2, quoteLine: 2, lastLine: 2, lengthMax: RECORD_LENGTH_MAX },
        brokenOff(2),
      ),
    }),
  ],
  importRefused: [
    file(`sku,attributes\n${taken},{}\n${taken},{}\n`, {
      query: '?atomic=true',
      expected: errors.importRefused({
        details: {
          report: {
            received: 2,
            created: 1,
            updated: 0,
            skipped: 0,
            failed: 1,
            line: 3,
            durationMs: expect.any(Number),
            errors: [{ line: 3, sku: taken, type: 'CONFLICT', description: 'A product with this sku already exists.' }],
          },
        },
      }),
    }),
  ],
}
