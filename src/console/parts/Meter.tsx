/** A bar that shows the used share. The words next to it give the same value. */

export const Meter = ({ label, share }: { readonly label: string; readonly share: number }) => {
  const filled = Math.max(0, Math.min(1, share)) * 100
  return (
    <svg
      class={share >= 0.95 ? "meter full" : "meter"}
      viewBox="0 0 100 4"
      preserveAspectRatio="none"
      role="img"
      aria-label={`${label}: ${Math.round(filled)} %`}
    >
      <rect class="track" width="100" height="4" />
      <rect class="filled" width={filled} height="4" />
    </svg>
  )
}
