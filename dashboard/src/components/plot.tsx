import { useComputedColorScheme } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { texts, useText } from '../text.ts'

const words = texts({ en: { soFar: 'so far' }, pt: { soFar: 'até agora' } })

export type Series = { label: string; values: (number | null)[]; color: string; kind: 'bars' | 'line' }

const bars = uPlot.paths.bars?.({ size: [0.6, 40], radius: 0.15 })
const barPaths = bars ? { paths: bars } : {}

/** Counts and cents are integers, so the axis steps by 1, 2, 5, 10, 20 … */
const wholeSteps = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat()

/** As wide as the widest label. Labels are longer in one language than in the other. */
function widthOfLabels(plot: uPlot, labels: string[] | null, index: number): number {
  const axis = plot.axes[index]
  // The font as uPlot paints it: uPlot resolves it to device pixels, in a list with its line height.
  plot.ctx.font = [axis?.font ?? ''].flat()[0] ?? ''
  const widths = (labels ?? []).map((label) => plot.ctx.measureText(label).width / devicePixelRatio)
  return Math.ceil(Math.max(0, ...widths)) + (axis?.gap ?? 0) + 6
}

/**
 * The points that have a label: no more than there is room for, at equal distances. Counted from the last point, the
 * last one has a label; counted from the first, the distance divides the number of points if it can.
 */
function labelled(count: number, { room, from }: { room: number; from: 'first' | 'last' }): number[] {
  const least = Math.max(1, Math.ceil(count / Math.max(1, room)))
  const step =
    from === 'last' ? least : ([...Array(count).keys()].find((one) => one >= least && count % one === 0) ?? least)
  return Array.from({ length: Math.ceil(count / step) }, (_, index) =>
    from === 'last' ? count - 1 - index * step : index * step,
  ).sort((one, other) => one - other)
}

/** Diagonal lines, for a bar that may still grow. */
function hatch(ctx: CanvasRenderingContext2D, color: string): CanvasPattern | string {
  const side = Math.round(7 * devicePixelRatio)
  const tile = document.createElement('canvas')
  tile.width = tile.height = side
  const lines = tile.getContext('2d')
  if (!lines) return color
  lines.strokeStyle = color
  lines.lineWidth = side / 3.5
  for (const shift of [-side, 0, side]) {
    lines.moveTo(shift - 1, side + 1)
    lines.lineTo(shift + side + 1, -1)
  }
  lines.stroke()
  return ctx.createPattern(tile, 'repeat') ?? color
}

/**
 * A series as uPlot draws it. Of bars, the one that may still grow is a series of its own, and zeros are left out,
 * because uPlot draws a bar of height zero as a line.
 */
function toDrawn(
  { label, values, color, kind }: Series,
  partial: number | undefined,
): { options: uPlot.Series; values: Series['values'] }[] {
  if (kind === 'line')
    return [{ options: { label, stroke: color, width: 2, points: { show: values.length < 3, size: 5 } }, values }]
  const options = { label, stroke: color, ...barPaths, points: { show: false } }
  const whole = {
    options: { ...options, fill: `${color}cc` },
    values: values.map((value, index) => (index !== partial && value) || null),
  }
  if (partial === undefined) return [whole]
  const fill = (plot: uPlot) => hatch(plot.ctx, color)
  return [
    whole,
    { options: { ...options, fill }, values: values.map((value, index) => (index === partial && value) || null) },
  ]
}

/** A plot over days or hours. A hidden table has the same values for screen readers. */
export function Plot({
  names,
  series,
  format,
  formatAxis = format,
  height = 220,
  label,
  partial,
  labelsFrom = 'last',
  details,
  onPick,
}: {
  /** The labels of the points from left to right. */
  names: string[]
  series: Series[]
  format: (value: number) => string
  /** The short form for the axis. */
  formatAxis?: (value: number) => string
  height?: number
  label: string
  /** The point whose time is not over. */
  partial?: number | undefined
  labelsFrom?: 'first' | 'last'
  /** What the tooltip says of a point: the values of the series, or these lines. */
  details?: (index: number) => string[]
  /** A click on a point, or Enter. */
  onPick?: (index: number) => void
}) {
  const t = useText(words)
  const drawn = useRef<uPlot>(null)
  /** The point of the tooltip, which stays when the plot is drawn again for new data or another size. */
  const pointed = useRef<number | null>(null)
  const pick = useRef(onPick)
  pick.current = onPick
  const [tip, setTip] = useState<{ index: number; left: number } | null>(null)
  const pointTo = (index: number | null) => {
    pointed.current = index
    const plot = drawn.current
    setTip(plot && index !== null ? { index, left: plot.valToPos(index, 'x') + plot.over.offsetLeft } : null)
  }
  const point = useRef(pointTo)
  point.current = pointTo
  const { ref: measured, width } = useElementSize()
  const place = useRef<HTMLDivElement>(null)
  const scheme = useComputedColorScheme('light')
  useEffect(() => {
    if (!place.current || width === 0) return
    const ink = scheme === 'dark' ? '#9fb0ac' : '#5b6b67'
    const grid = scheme === 'dark' ? '#26302d' : '#e6ecea'
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: '11px system-ui' }
    const shown = series.flatMap((one) => toDrawn(one, partial))
    const plot = new uPlot(
      {
        width,
        height,
        legend: { show: false },
        cursor: { show: false },
        hooks: { draw: [() => point.current(pointed.current)] },
        scales: {
          x: { time: false, range: [-0.6, names.length - 0.4] },
          y: { range: (_, __, max) => [0, max * 1.1 || 1] },
        },
        axes: [
          {
            ...axis,
            grid: { show: false },
            splits: () => labelled(names.length, { room: (width - 60) / 64, from: labelsFrom }),
            values: (_, at) =>
              at.map((index) => (index === partial ? `${names[index]}\n${t.soFar}` : (names[index] ?? ''))),
            size: partial === undefined ? 30 : 44,
          },
          { ...axis, size: widthOfLabels, incrs: wholeSteps, values: (_, at) => at.map(formatAxis), space: 40 },
        ],
        series: [{}, ...shown.map(({ options }) => options)],
      },
      [names.map((_, index) => index), ...shown.map(({ values }) => values)],
      place.current,
    )
    drawn.current = plot
    const indexOf = ({ offsetX }: MouseEvent) => plot.posToIdx(offsetX)
    plot.over.addEventListener('mousemove', (event) => point.current(indexOf(event)))
    plot.over.addEventListener('mouseleave', () => point.current(null))
    let touched: number | null = null
    plot.over.addEventListener('click', (event) => {
      const index = indexOf(event)
      // A finger cannot hover: its first tap shows the tooltip.
      const isFirstTap = event instanceof PointerEvent && event.pointerType === 'touch' && touched !== index
      touched = index
      if (!isFirstTap) pick.current?.(index)
    })
    return () => plot.destroy()
  }, [names, series, formatAxis, height, width, scheme, partial, labelsFrom, t])
  const ofSeries = (index: number) =>
    series.map(({ label: name, values }) => `${name}: ${values[index] == null ? '–' : format(values[index])}`)
  const nameOf = (index: number) => (index === partial ? `${names[index]} (${t.soFar})` : (names[index] ?? ''))
  const linesOf = (index: number) => [nameOf(index), ...(details ?? ofSeries)(index)]
  const last = partial ?? names.length - 1
  const current = Math.min(tip?.index ?? last, names.length - 1)
  return (
    <figure ref={measured} aria-label={label} style={{ margin: 0, minHeight: height, position: 'relative' }}>
      <div ref={place} aria-hidden="true" className={onPick && 'plot-picked'} />
      <input
        type="range"
        className="plot-keys"
        min={0}
        max={names.length - 1}
        value={current}
        aria-label={label}
        aria-valuetext={linesOf(current).join(', ')}
        onChange={({ target }) => pointTo(Number(target.value))}
        onFocus={() => pointTo(last)}
        onBlur={() => pointTo(null)}
        onKeyDown={({ key }) => {
          if (key === 'Enter') onPick?.(current)
        }}
      />
      {tip && tip.index < names.length && <div className="plot-line" style={{ left: tip.left }} />}
      {tip && tip.index < names.length && (
        <div
          className="plot-tip"
          aria-hidden="true"
          style={{ left: tip.left }}
          data-left={tip.left > width / 2 || undefined}
        >
          {linesOf(tip.index).map((line) => (
            <div key={line}>{line}</div>
          ))}
        </div>
      )}
      {/* The class hides a div: a table never becomes smaller than its content. */}
      <div className="unseen">
        <table>
          <caption>{label}</caption>
          <thead>
            <tr>
              <th />
              {series.map(({ label: name }) => (
                <th key={name}>{name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {names.map((name, index) => (
              <tr key={name}>
                <th>{nameOf(index)}</th>
                {series.map(({ label: of, values }) => (
                  <td key={of}>
                    {values[index] === null || values[index] === undefined ? '–' : format(values[index])}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  )
}
