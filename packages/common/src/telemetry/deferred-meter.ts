import type {
  BatchObservableCallback,
  Counter,
  Gauge,
  Histogram,
  Meter,
  Observable,
  UpDownCounter,
} from '@opentelemetry/api'

type Act = (meter: Meter) => void

/** A meter that works before its library is loaded. */
export interface DeferredMeter {
  readonly meter: Meter
  /** Makes all instruments on the real meter, and records the values so far there. Call it once. */
  readonly attach: (target: Meter) => void
}

/**
 * Returns a meter whose instruments work before their library is loaded, which has 300 files and would delay
 * a start. Their values wait, in order.
 */
export function createDeferredMeter(): DeferredMeter {
  let real: Meter | undefined
  let waiting: Act[] = []
  const whenAttached = (act: Act): void => {
    if (real) act(real)
    else waiting.push(act)
  }
  const { instrument, adding, recording } = deferInstruments(whenAttached)
  /** The real observable of each observable that was given out. */
  const realObservables = new WeakMap<Observable, { made?: Observable }>()
  // `observing` keeps an observable of the same kind for each that it gives out.
  const realOf = <Given extends Observable>(given: Given): Given => (realObservables.get(given)?.made ?? given) as Given
  const observing = (create: (meter: Meter) => Observable): Observable => {
    const held = instrument(create)
    const given: Observable = {
      addCallback: (callback) => whenAttached(() => held.made?.addCallback(callback)),
      removeCallback: (callback) => whenAttached(() => held.made?.removeCallback(callback)),
    }
    realObservables.set(given, held)
    return given
  }
  const batches = new Map<BatchObservableCallback, BatchObservableCallback>()
  const meter: Meter = {
    createCounter: (...named) => adding((meter) => meter.createCounter(...named)),
    createUpDownCounter: (...named) => adding((meter) => meter.createUpDownCounter(...named)),
    createHistogram: (...named) => recording((meter) => meter.createHistogram(...named)),
    createGauge: (...named) => recording((meter) => meter.createGauge(...named)),
    createObservableCounter: (...named) => observing((meter) => meter.createObservableCounter(...named)),
    createObservableGauge: (...named) => observing((meter) => meter.createObservableGauge(...named)),
    createObservableUpDownCounter: (...named) => observing((meter) => meter.createObservableUpDownCounter(...named)),
    addBatchObservableCallback: (callback, observables) => {
      const translated: BatchObservableCallback = (result) =>
        callback({ observe: (metric, ...sample) => result.observe(realOf(metric), ...sample) })
      batches.set(callback, translated)
      whenAttached((meter) => meter.addBatchObservableCallback(translated, observables.map(realOf)))
    },
    removeBatchObservableCallback: (callback, observables) => {
      const translated = batches.get(callback)
      if (translated) whenAttached((meter) => meter.removeBatchObservableCallback(translated, observables.map(realOf)))
    },
  }
  return {
    meter,
    attach: (target: Meter): void => {
      const acts = waiting
      waiting = []
      real = target
      for (const act of acts) act(target)
    },
  }
}

/** Makes instruments that record as soon as the real meter exists. */
function deferInstruments(whenAttached: (act: Act) => void) {
  /** An instrument. It is set as soon as the real meter exists. */
  const instrument = <Made>(create: (meter: Meter) => Made): { made?: Made } => {
    const held: { made?: Made } = {}
    whenAttached((meter) => {
      held.made = create(meter)
    })
    return held
  }
  return {
    instrument,
    adding: (create: (meter: Meter) => Counter | UpDownCounter): Counter => {
      const held = instrument(create)
      const add: Counter['add'] = (value, attributes, context) => {
        if (held.made) held.made.add(value, attributes, context)
        else whenAttached(() => add(value, attributes, context))
      }
      return { add }
    },
    recording: (create: (meter: Meter) => Histogram | Gauge): Histogram & Gauge => {
      const held = instrument(create)
      const record: Histogram['record'] = (value, attributes, context) => {
        if (held.made) held.made.record(value, attributes, context)
        else whenAttached(() => record(value, attributes, context))
      }
      return { record }
    },
  }
}
