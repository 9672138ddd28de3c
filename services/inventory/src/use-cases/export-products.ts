import { toAnswerPiece } from '@trestle/common/server/answer-piece.ts'
import type { InventoryDeps } from '../deps.ts'
import type { ExportForm } from '../exports/export-form.ts'
import { streamExport } from '../exports/export-repository.ts'
import type { AttributePath } from '../products/attribute-path.ts'
import type { ProductSelection } from '../products/product-list-repository.ts'

/** The products to export, and the form in which to write them. */
export interface ExportProductsInput {
  readonly selection: ProductSelection
  readonly flatten: readonly AttributePath[]
  readonly form: ExportForm
}

/** Writes the products of a selection as a file. Each piece is made when it is asked for. */
export async function* exportProducts(
  { db }: Pick<InventoryDeps, 'db'>,
  { selection, flatten, form }: ExportProductsInput,
): AsyncGenerator<Uint8Array, void> {
  if (form.header !== '') yield Buffer.from(form.header)
  for await (const products of streamExport(db, selection, flatten)) {
    yield toAnswerPiece(products.map(form.write))
  }
}
