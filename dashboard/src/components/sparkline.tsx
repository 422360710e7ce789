const [width, height] = [120, 28]

/** A small line chart of one figure. `label` tells screen readers the values. */
export function Sparkline({ values, label }: { values: (number | null)[]; label: string }) {
  const known = values.filter((value) => value !== null)
  if (known.length < 2) return null
  const max = Math.max(...known)
  const min = Math.min(0, ...known)
  const x = (index: number) => 2 + (index / (values.length - 1)) * (width - 6)
  const y = (value: number) => height - 3 - ((value - min) / (max - min || 1)) * (height - 6)
  const points = values.flatMap((value, index) => (value === null ? [] : [{ x: x(index), y: y(value) }]))
  const last = points.at(-1)
  return (
    <svg className="sparkline" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label} width={width}>
      <polyline
        points={points.map((one) => `${one.x},${one.y}`).join(' ')}
        fill="none"
        stroke="#179d88"
        strokeWidth="1.5"
      />
      {last && <circle cx={last.x} cy={last.y} r="2.5" fill="#179d88" />}
    </svg>
  )
}
