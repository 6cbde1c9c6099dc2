// The number of a workgroup.
//
// A dispatch of more than 65,535 workgroups is two-dimensional. A long sort is dispatched in parts:
// the first workgroup of a part is a parameter, `first`, which a kernel adds.

fn workgroup_number(group: vec3<u32>, groups: vec3<u32>) -> u32 {
    return group.y * groups.x + group.x;
}
