import { useComputedColorScheme } from '@mantine/core'
import { useElementSize } from '@mantine/hooks'
import { useEffect, useRef } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

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

/** A plot over days or hours. A hidden table has the same values for screen readers. */
export function Plot({
  names,
  series,
  format,
  formatAxis = format,
  height = 220,
  label,
}: {
  /** The labels of the points from left to right. */
  names: string[]
  series: Series[]
  format: (value: number) => string
  /** The short form for the axis. */
  formatAxis?: (value: number) => string
  height?: number
  label: string
}) {
  const { ref: measured, width } = useElementSize()
  const place = useRef<HTMLDivElement>(null)
  const scheme = useComputedColorScheme('light')
  useEffect(() => {
    if (!place.current || width === 0) return
    const ink = scheme === 'dark' ? '#9fb0ac' : '#5b6b67'
    const grid = scheme === 'dark' ? '#26302d' : '#e6ecea'
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: '11px system-ui' }
    const plot = new uPlot(
      {
        width,
        height,
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, points: { show: false } },
        scales: {
          x: { time: false, range: [-0.6, names.length - 0.4] },
          y: { range: (_, __, max) => [0, max * 1.1 || 1] },
        },
        axes: [
          {
            ...axis,
            grid: { show: false },
            values: (_, at) => at.map((index) => (Number.isInteger(index) ? (names[index] ?? '') : '')),
            space: 56,
            size: 30,
          },
          { ...axis, size: widthOfLabels, incrs: wholeSteps, values: (_, at) => at.map(formatAxis), space: 40 },
        ],
        series: [
          {},
          ...series.map(({ label: name, color, kind }) => ({
            label: name,
            stroke: color,
            ...(kind === 'bars'
              ? {
                  fill: `${color}cc`,
                  ...barPaths,
                  points: { show: false },
                }
              : { width: 2, points: { show: names.length < 3, size: 5 } }),
          })),
        ],
      },
      // A bar of height zero would still be drawn as a line.
      [
        names.map((_, index) => index),
        ...series.map(({ values, kind }) => (kind === 'bars' ? values.map((value) => value || null) : values)),
      ],
      place.current,
    )
    return () => plot.destroy()
  }, [names, series, formatAxis, height, width, scheme])
  return (
    <figure ref={measured} aria-label={label} style={{ margin: 0, minHeight: height, position: 'relative' }}>
      <div ref={place} aria-hidden="true" />
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
                <th>{name}</th>
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
