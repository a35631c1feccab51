// SPDX-License-Identifier: Apache-2.0

package identity

// ResolveAmong resolves without a file system, for fuzzing.
var ResolveAmong = resolve
