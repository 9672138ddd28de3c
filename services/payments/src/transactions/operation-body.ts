import { z } from 'zod'
import { amount, descriptor, reference, text } from '../requests/fields.ts'

/** The body of a capture (reference: Operations). */
export const CaptureBody = z.object({
  amount: amount(),
  currency: text().trim().meta({ pattern: '^[A-Z]{3}$' }).optional(),
  descriptor: descriptor().optional(),
  reference: reference().optional(),
})

/** The body of a refund. */
export const RefundBody = z.object({
  amount: amount(),
  descriptor: descriptor().optional(),
  reference: reference().optional(),
})

/** The body of a void. */
export const VoidBody = z.object({
  amount: amount(),
  reference: reference().optional(),
})
